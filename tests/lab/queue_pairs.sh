#!/bin/bash
# The agent on a host with queue pairs older than itself, while others come and go: it lists the same as
# the kernel at the same moment.
set -eEu
. /lab/fabric.sh
. /lab/observe.sh
. /lab/page.sh
fabric_up 4500

# Both lists at one moment, as NAME.ours and NAME.kernel: the kernel's is the same before and after.
lists() {
  local name=$1 _
  for _ in $(seq 10); do
    rdma resource show qp -j > before
    # The agent serves a list for two seconds before it makes a new one.
    sleep 3
    page queue_pairs.json > $name.ours
    rdma resource show qp -j > $name.kernel
    [ "$(< before)" = "$(< $name.kernel)" ] && return
  done
  echo "$name: the kernel's list never stays the same" >&2
  return 1
}

# Host 0 writes to host 1 over some queue pairs, then both programs are stopped, so that the guest is idle.
# $3 is the total number of queue pairs.
traffic() {
  local port=$1 pairs=$2 server client
  instead_at 1 ib_write_bw -d rxe1 -x $(gid 1) -p $port -q $pairs -s 4096 -D 120 > server.$port 2>&1 &
  server=$!
  eventually at 1 bash -c "ss -ltn | grep -q :$port"
  instead_at 0 ib_write_bw -d rxe0 -x $(gid 0) -p $port -q $pairs -s 4096 -D 120 10.0.0.2 \
    > client.$port 2>&1 &
  client=$!
  eventually are_ready $3
  kill -STOP $server $client
  programs="$server $client"
}

# Whether this many queue pairs of both hosts are ready to send and receive.
are_ready() { [ "$(rdma resource show qp | grep 'type RC' | grep -c 'state RT')" -eq "$1" ]; }

traffic 18515 3 6
older=$programs
instead_at 0 /host/railscope agent --set 'taps.interfaces=["eth0"]' --set 'otlp.interval="1s"' \
  2> agent.log &
agent=$!
is_ready() { [ "$(page readyz)" = ok ]; }
eventually is_ready
lists older
traffic 18516 2 10
newer=$programs
lists both
kill -KILL $older
eventually are_ready 4
lists newer
kill -KILL $newer
eventually are_ready 0
lists none
# This kernel also runs the programs at traffic control.
page metrics > metrics
kill $agent
wait $agent
fabric_down
