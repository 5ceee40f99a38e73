# Four hosts and a switch, to be sourced: network namespaces h0 to h3 with eth0, addresses 10.0.0.1 to .4
# and fd00::1 to ::4, each connected by a veth to a bridge in the namespace `switch`, whose ports are p0
# to p3; `fabric_up` also makes soft-RoCE devices rxe0 to rxe3 on them.

# Prints the command that ended a script with `set -eE`, even if standard error goes to a file.
exec {errors}>&2
trap 'echo "$BASH_SOURCE:$LINENO: $BASH_COMMAND: status $?" >&$errors' ERR

# Runs a command on a host: `at 2 ping 10.0.0.1`.
at() {
  local host=$1
  shift
  nsenter --net=/run/netns/h$host -- "$@"
}

# The same in the background; `$!` is then the command itself, not a shell that would get its
# signals: `instead_at 2 ib_write_bw &`.
instead_at() {
  local host=$1
  shift
  exec nsenter --net=/run/netns/h$host -- "$@"
}

at_switch() { nsenter --net=/run/netns/switch -- "$@"; }

# Makes the fabric with this Ethernet MTU, by default 1500.
fabric_up() {
  local host
  ethernet_up "$@"
  for host in 0 1 2 3; do
    at $host rdma link add rxe$host type rxe netdev eth0
  done
}

# Hosts and switch, without RDMA devices.
ethernet_up() {
  local mtu=${1:-1500} host
  ip netns add switch
  at_switch sysctl -qw net.ipv6.conf.default.disable_ipv6=1
  at_switch ip link add br0 mtu "$mtu" type bridge mcast_snooping 0
  at_switch ip link set br0 up
  for host in 0 1 2 3; do
    ip netns add h$host
    # No duplicate address detection: addresses are usable at once.
    at $host sysctl -qw net.ipv6.conf.default.accept_dad=0
    at $host ip link set lo up
    ip link add p$host mtu "$mtu" netns switch type veth peer name eth0 mtu "$mtu" netns h$host
    at_switch ip link set p$host master br0 up
    at $host ip link set eth0 up
    at $host ip address add 10.0.0.$((host + 1))/24 dev eth0
    at $host ip address add fd00::$((host + 1))/64 dev eth0 nodad
  done
  for host in 1 2 3; do
    reaches 0 10.0.0.$((host + 1))
    reaches 0 fd00::$((host + 1))
  done
}

# Waits until a host reaches an address, so that no packet is lost to unresolved neighbours.
reaches() {
  local _
  for _ in $(seq 50); do
    at "$1" ping -qc 1 -W 1 "$2" > /dev/null 2>&1 && return
    sleep 0.1
  done
  echo "host $1 does not reach $2" >&2
  return 1
}

# The index of a host's RoCE v2 GID for IPv4, or for IPv6: `gid 0`, `gid 0 6`.
gid() {
  local folder=/sys/class/infiniband/rxe$1/ports/1 wanted index
  case ${2:-4} in
    4) wanted=$(printf '0000:0000:0000:0000:0000:ffff:0a00:%04x' $(($1 + 1))) ;;
    6) wanted=$(printf 'fd00:0000:0000:0000:0000:0000:0000:%04x' $(($1 + 1))) ;;
  esac
  for index in {0..7}; do
    [ "$(< "$folder/gids/$index")" = "$wanted" ] || continue
    [ "$(< "$folder/gid_attrs/types/$index")" = "RoCE v2" ] || continue
    echo "$index"
    return
  done
  echo "host $1 has no RoCE v2 GID $wanted" >&2
  return 1
}

fabric_down() {
  local host
  for host in 0 1 2 3; do
    rdma link delete rxe$host
  done
  ethernet_down
}

ethernet_down() {
  local host
  for host in 0 1 2 3; do
    ip netns delete h$host
  done
  ip netns delete switch
}
