#!/bin/bash
# railscope's own driver over soft-RoCE: the adapter alone, then a small training job with one rank on
# each of four hosts, started as by torchrun.
set -eu
hosts='0 1 2 3' filter='tcp or udp port 4791'
. /lab/fabric.sh
. /lab/observe.sh
fabric_up 4500

# Runs all four ranks with these options; other NCCL variables come from the environment.
ranks() {
  local rank started=() status=0
  mkdir logs
  for rank in 0 1 2 3; do
    at $rank unshare --uts -- bash -c 'hostname "$0"; exec "$@"' host$rank \
      env RANK=$rank WORLD_SIZE=4 LOCAL_RANK=0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 \
      NCCL_SOCKET_IFNAME=eth0 NCCL_IB_TC=106 NCCL_IB_TIMEOUT=14 \
      ${recorder:+$recorder host$rank.railscope.tar.zst --} /host/railscope drive --transport verbs --iterations 6 --buckets 512KiB,128KiB --compute 20ms \
      --truth truth.jsonl --log logs "$@" > rank$rank.out 2>&1 &
    started+=($!)
  done
  for rank in 0 1 2 3; do
    wait "${started[$rank]}" || { status=$?; echo "rank $rank: exit status $status"; cat rank$rank.out; }
  done
  [ $status -eq 0 ]
  cat truth.rank?.jsonl > truth.jsonl
  rm truth.rank?.jsonl
}

# Drops 1 % of the RoCE packets to host 2.
losing() {
  at_switch tc qdisc add dev p2 root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
  at_switch tc filter add dev p2 parent 1: protocol ip prio 1 flower ip_proto udp dst_port 4791 \
    classid 1:2
  at_switch tc qdisc add dev p2 parent 1:2 handle 2: netem loss 1% seed 4791
  "$@"
  at_switch tc -s -j qdisc show dev p2 > qdisc
  at_switch tc qdisc delete dev p2 root
}

/host/verbs --include-ignored --test-threads 1
run_case plain ranks
recorder='/host/railscope capture -i eth0 --bundle' run_case bundles ranks
NCCL_IB_QPS_PER_CONNECTION=2 run_case queue_pairs ranks
run_case straggler ranks --straggler rank=2,delay=150ms,iterations=2..4
run_case loss losing ranks
fabric_down
