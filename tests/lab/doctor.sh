#!/bin/bash
# railscope doctor on hosts with soft-RoCE, each in a network namespace: as root, as nobody, with a small MTU, with a setting
# that selects no device, without a device, and with namespaces that have RDMA devices of their own.
set -eu
. /lab/fabric.sh
fabric_up 4500

# What doctor prints is in NAME, its exit code in NAME.code. `ip netns exec` shows sysfs of the namespace, too.
doctor() {
  local name=$1 code=0
  shift
  "$@" > "$name" 2> "$name.errors" || code=$?
  echo "$code" > "$name.code"
  cat "$name.errors"
}

doctor healthy ip netns exec h0 /host/railscope doctor --json
doctor text ip netns exec h0 /host/railscope doctor
cat text
doctor nobody ip netns exec h0 setpriv --reuid 65534 --regid 65534 --clear-groups /host/railscope doctor --json
doctor selects_none ip netns exec h1 env NCCL_IB_HCA=mlx5_0 /host/railscope doctor --json
at 2 ip link set eth0 mtu 1500
doctor small_mtu ip netns exec h2 /host/railscope doctor --json
at 2 ip link set eth0 mtu 4500
doctor learn ip netns exec h0 /host/railscope doctor --learn
doctor expected ip netns exec h0 /host/railscope doctor --json --expect learn
fabric_down
doctor no_device /host/railscope doctor --json
