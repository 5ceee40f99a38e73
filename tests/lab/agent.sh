#!/bin/bash
# The guest's first process: runs /host/job.sh on the second serial port, writes its exit status to
# /host/job.rc and powers off.
export PATH=/usr/sbin:/usr/bin HOME=/tmp TERM=${TERM:-linux} LC_ALL=C.UTF-8

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing
ln -s /proc/self/fd /dev/fd
mkdir -p /dev/shm /dev/pts
mount -t devpts pts /dev/pts
for folder in /run /tmp /dev/shm; do mount -t tmpfs tmpfs $folder; done
ip link set lo up
hostname lab
# A copy: bash reads a script while it runs, and the host may change it meanwhile.
cp -r /repo/tests/lab /lab
for module in rdma_rxe ib_uverbs ib_umad rdma_ucm veth bridge; do modprobe $module; done
ulimit -l unlimited

cd /host
stty -F /dev/ttyS1 $(< job.stty)
setsid --ctty --wait bash /host/job.sh < /dev/ttyS1 > /dev/ttyS1 2>&1
echo $? > /host/job.rc
sync
echo o > /proc/sysrq-trigger
sleep 60
