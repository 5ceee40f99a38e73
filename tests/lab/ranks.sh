#!/bin/bash
# Ranks on a host whose NIC bypasses the kernel: the agent sees no packets, and finds ranks and the owners
# of queue pairs from calls and the kernel's list.
set -eEu
. /lab/fabric.sh
. /lab/observe.sh
. /lab/page.sh
fabric_up 4500

# On /host one file has several inodes, and a uprobe is attached to one of them.
cp /host/libnccl.so.2 /tmp
declare -A rank line
for number in 0 1; do
  mkfifo line.$number
  instead_at $number python3 /lab/rank.py $number /tmp/libnccl.so.2 < line.$number > rank.$number 2>&1 &
  rank[$number]=$!
  exec {line[$number]}> line.$number
done
eventually [ -e ready.0 ]
eventually [ -e ready.1 ]
instead_at 0 /host/railscope agent --set sources.packets=false --set 'otlp.interval="1s"' 2> agent.log &
agent=$!
eventually grep -q 'calls of .*/libnccl.so.2 are seen' agent.log
eventually grep -q 'calls of .*/libibverbs.so.1.* are seen' agent.log
for number in 0 1; do
  echo >&${line[$number]}
done
# Both ranks have made calls for a second, and the kernel's list was read after that.
is_reported() { page report.json > report && grep -q 'RDMA is not visible: 4 queue pairs of 2 ranks' report; }
for _ in $(seq 60); do
  is_reported && break
  # If asked more often, a guest without KVM has no time to make a report.
  sleep 3
done
rdma resource show qp -j > kernel
page queue_pairs.json > pairs
echo "${rank[0]} ${rank[1]}" > pids
kill -KILL ${rank[0]} ${rank[1]}
kill $agent
wait $agent
fabric_down
