#!/bin/bash
# The agent on a kernel without TCX, with traffic control filters only: the verifier accepts the programs,
# they see a job from its first connection on, and the next agent removes what a killed one left.
set -eEu
. /lab/fabric.sh
. /lab/observe.sh
. /lab/page.sh
ethernet_up 4500

agent_up() {
  instead_at 0 /host/railscope agent --set 'taps.interfaces=["eth0"]' --set 'otlp.interval="1s"' \
    2>> agent.log &
  agent=$!
  eventually is_ready
}

is_ready() { [ "$(page readyz)" = ok ]; }

# Programs of the filters on eth0.
programs() {
  local side
  for side in ingress egress; do
    at 0 tc filter show dev eth0 $side
  done | sed -n 's/.* name \(packets_[a-z]*\) .*/\1/p'
}

is_in_driver() { ip link show dev mirror0 | grep -q 'name mirrored_in'; }

agent_up
programs > first
for rank in 0 1; do
  at $rank unshare --uts -- bash -c 'hostname "$0"; exec "$@"' host$rank \
    env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 \
    NCCL_SOCKET_IFNAME=eth0 /host/railscope drive --iterations 6 --warmup_iters 0 --buckets 256KiB \
    --compute 20ms > rank$rank.out 2>&1 &
  ranks[$rank]=$!
done
for rank in 0 1; do
  wait ${ranks[$rank]} || { cat rank*.out agent.log; exit 1; }
done

# If asked more often, a guest without KVM has no time to make a report.
for _ in $(seq 30); do
  page report.json > report
  [ "$(grep -o '"kind": *"all_reduce"' report | wc -l)" -ge 6 ] && break
  sleep 3
done
page metrics > metrics
kill -KILL $agent
wait $agent || true
programs > killed
agent_up
programs > next
kill $agent
wait $agent
programs > ended

# As a mirror port: the verifier accepts the program for its driver, too.
ip link add mirror0 type veth peer name far0
ip link set mirror0 up
ip link set far0 up
/host/railscope agent --set 'taps.interfaces=["mirror0"]' --set 'taps.mirrors=["mirror0"]' \
  --set 'prometheus.listen="127.0.0.1:9475"' 2> mirror.log &
agent=$!
eventually is_in_driver
kill $agent
wait $agent
is_in_driver && touch still_in_driver
ip link del mirror0
ethernet_down
