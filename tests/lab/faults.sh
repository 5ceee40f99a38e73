#!/bin/bash
# One fault per case, between a client on host 0 and a server on host 1.
set -eEu
. /lab/fabric.sh
. /lab/observe.sh
. /lab/programs.sh
fabric_up 4500

# Sends RoCE packets to host 1 through the queueing discipline that `path` names, until path_end, which
# writes its counters to `qdisc`.
path_begin() {
  # Left by a case that crashed.
  at_switch tc qdisc delete dev p1 root 2> /dev/null || true
  at_switch tc qdisc add dev p1 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
  at_switch tc filter add dev p1 parent 1: protocol ip prio 1 flower ip_proto udp dst_port 4791 \
    classid 1:2
  "$path"
}

path_end() {
  at_switch tc -s -j qdisc show dev p1 > qdisc
  at_switch tc qdisc delete dev p1 root
}

through() {
  path_begin
  "$@"
  path_end
}

losing() { at_switch tc qdisc add dev p1 parent 1:2 handle 2: netem loss 2% seed 4791; }
reordering() { at_switch tc qdisc add dev p1 parent 1:2 handle 2: netem delay 5ms reorder 97% seed 4791; }
marking() { at_switch tc qdisc add dev p1 parent 1:2 handle 2: netem loss 5% ecn seed 4791; }
# A queue shorter than the send window, so that packets are marked for its length.
congested() {
  at_switch tc qdisc add dev p1 parent 1:2 handle 2: tbf rate 8mbit burst 5k limit 1m
  at_switch tc qdisc add dev p1 parent 2:1 handle 3: red limit 500k min 4k max 12k avpkt 1000 burst 5 \
    bandwidth 8mbit probability 0.5 ecn
}

# Slow enough for a transfer to last until its progress is noticed.
crawling() { at_switch tc qdisc add dev p1 parent 1:2 handle 2: tbf rate 800kbit burst 5k limit 1m; }

packets_received() { echo $(($(< /sys/class/infiniband/rxe1/ports/1/hw_counters/rcvd_pkts) - received)); }
receives_more_than() { [ "$(packets_received)" -gt "$1" ]; }

# Starts a long transfer and returns in the middle of it.
begin_long_transfer() {
  received=0
  received=$(packets_received)
  instead_at 1 ib_write_bw -d rxe1 -x "$(gid 1)" -F "$@" > server 2>&1 &
  server=$!
  eventually listens
  instead_at 0 ib_write_bw -d rxe0 -x "$(gid 0)" -F "$@" 10.0.0.2 > client 2>&1 &
  client=$!
  eventually receives_more_than 60
}

# perftest asks for 7 retries, which rxe takes as unlimited: the client is killed after two. They are a
# second apart, a longer silence than a busy machine causes.
kill_server() {
  begin_long_transfer -m 1024 -s 4096 -n 100000 -t 4 -u 18
  kill -KILL $server
  retried=$(retries)
  eventually retries_more_than $((retried + 1))
  kill -KILL $client
}

retries() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/completer_retry_err; }
retries_more_than() { [ "$(retries)" -gt "$1" ]; }

# The link comes back after a retransmission that was lost too.
flap_link() {
  path_begin
  begin_long_transfer -m 1024 -s 4096 -n 1000 -t 2 -u 18
  at_switch ip link set p1 down
  retried=$(retries)
  eventually retries_more_than "$retried"
  path_end
  at_switch ip link set p1 up
  wait $client $server
}

bad_rkey() { python3 /lab/bad_rkey.py > client 2>&1; }

path=losing run_case loss through perftest ib_send_bw -m 1024 -s 8000 -n 200
path=reordering run_case reorder through perftest ib_write_bw -m 1024 -s 8000 -n 200
run_case rnr perftest ib_send_bw -m 1024 -s 1000 -n 100 -t 32 -r 4
path=marking run_case ce_netem through perftest ib_write_bw -m 1024 -s 8000 -n 200 --tclass=106
path=congested run_case ce_red through perftest ib_write_bw -m 1024 -s 8000 -n 100 -t 4 -u 19 --tclass=106
run_case bad_rkey bad_rkey
run_case peer_killed kill_server
path=crawling run_case link_flap flap_link
fabric_down
