"""A rank that looks like a process with NCCL: a communicator with a shared unique id, two connections to the
other rank, then one AllReduce after the other. The first connection is made before a line arrives on
standard input, everything else after it. The functions of the given libnccl.so.2 do nothing; libibverbs
and the queue pairs are real."""

import ctypes
import os
import sys
import time

from pyverbs.addr import GID

from end import End

RANKS = 2
FLOAT32, SUM = 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_ubyte * 128)]


def connect(name):
    """A connection to the other rank; a file gives that rank the address of this end."""
    end = End(rank)
    mine = f"{name}.{rank}"
    with open(mine + ".new", "w") as file:
        file.write(f"{end.qp.qp_num} {end.gid}")
    os.rename(mine + ".new", mine)
    other = f"{name}.{RANKS - 1 - rank}"
    while not os.path.exists(other):
        time.sleep(0.05)
    qpn, gid = open(other).read().split()
    end.connect(int(qpn), GID(gid))
    return end


rank, library = int(sys.argv[1]), sys.argv[2]
ends = [connect("older")]
open(f"ready.{rank}", "w").close()
nccl = ctypes.CDLL(library)
sys.stdin.readline()
nccl.ncclCommInitRank.argtypes = [
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
    UniqueId,
    ctypes.c_int,
]
# Magic, and the root at 10.0.0.1:50000.
id_bytes = bytes.fromhex("1032547618 3a5c7e 0200 c350 0a000001")
communicator = ctypes.c_void_p()
unique_id = UniqueId((ctypes.c_ubyte * 128)(*id_bytes))
assert nccl.ncclCommInitRank(ctypes.byref(communicator), RANKS, unique_id, rank) == 0
count = ctypes.c_size_t(1 << 20)
while True:
    assert nccl.ncclAllReduce(None, None, count, FLOAT32, SUM, communicator, None) == 0
    # NCCL from 2.22 on connects when a communicator is first used.
    if len(ends) == 1:
        ends.append(connect("newer"))
    time.sleep(0.1)
