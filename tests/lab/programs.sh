# Foreign RDMA programs from host 0, the client, to host 1, to be sourced after observe.sh. They leave
# what they print in `client` and `server`.

# Runs a program of perftest at both hosts: `perftest ib_write_bw -n 100`.
perftest() {
  perftest_between "$(gid 0)" "$(gid 1)" 10.0.0.2 "$@"
}

# The same with the connection manager, which chooses GIDs by addresses.
perftest_cm() {
  local program=$1
  shift
  at 1 "$program" -d rxe1 -F -R "$@" > server 2>&1 &
  eventually listens_cm
  at 0 "$program" -d rxe0 -F -R "$@" 10.0.0.2 > client 2>&1
  wait $!
}

perftest_ipv6() {
  perftest_between "$(gid 0 6)" "$(gid 1 6)" fd00::2 "$@" --ipv6-addr
}

perftest_between() {
  local own=$1 other=$2 address=$3 program=$4
  shift 4
  at 1 "$program" -d rxe1 -x "$other" -F "$@" > server 2>&1 &
  eventually listens
  at 0 "$program" -d rxe0 -x "$own" -F "$@" "$address" > client 2>&1
  wait $!
}

rping_cm() {
  at 1 rping -s -v "$@" > server 2>&1 &
  eventually listens_cm
  at 0 rping -c -a 10.0.0.2 -v "$@" > client 2>&1
  wait $!
}

# Whether a server at host 1 waits at perftest's port: of TCP, of the connection manager.
listens() { [ -n "$(at 1 ss -Hltn 'sport = 18515')" ]; }
listens_cm() { at 1 rdma resource show cm_id link rxe1 | grep -q LISTEN; }
