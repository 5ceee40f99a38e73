#!/bin/bash
# railscope doctor ping over soft-RoCE: four hosts with two rails each, healthy; one pair whose RoCE
# packets are dropped; and different rails, which do not connect.
set -eu
. /lab/fabric.sh
fabric_up 4500

# The second rail: eth1 with 10.0.1.1 to .4 on a bridge of its own, and rxe10 to rxe13.
at_switch ip link add br1 mtu 4500 type bridge mcast_snooping 0
at_switch ip link set br1 up
for host in 0 1 2 3; do
  ip link add q$host mtu 4500 netns switch type veth peer name eth1 mtu 4500 netns h$host
  at_switch ip link set q$host master br1 up
  at $host ip link set eth1 up
  at $host ip address add 10.0.1.$((host + 1))/24 dev eth1
done
for host in 1 2 3; do reaches 0 10.0.1.$((host + 1)); done
for host in 0 1 2 3; do at $host rdma link add rxe1$host type rxe netdev eth1; done

# Runs the ping on all hosts: what each prints is in NAME/hostN, its exit code in NAME/codeN.
ping_all() {
  local name=$1 host started=()
  shift
  mkdir "$name"
  for host in 0 1 2 3; do
    at $host /host/railscope doctor ping h0=10.0.0.1 h1=10.0.0.2 h2=10.0.0.3 h3=10.0.0.4 --as h$host "$@" \
      > "$name/host$host" 2> "$name/errors$host" &
    started+=($!)
  done
  for host in 0 1 2 3; do
    if wait "${started[$host]}"; then echo 0; else echo $?; fi > "$name/code$host"
  done
  cat "$name"/errors?
}

ping_all healthy --json --seconds 0.3
ping_all text --no-bandwidth
cat text/host0
at 3 nft 'add table ip t; add chain ip t in { type filter hook input priority 0; }; add rule ip t in ip saddr 10.0.0.2 udp dport 4791 drop'
ping_all dead_pair --json --no-bandwidth
at 3 nft delete table ip t
ping_all cross_rail --json --no-bandwidth --cross-rail
for host in 0 1 2 3; do rdma link delete rxe1$host; done
fabric_down
