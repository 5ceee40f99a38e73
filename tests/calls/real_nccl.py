"""Calls functions of a real libnccl.so.2 that need no GPU; prints the unique id in
hexadecimal, and the result of an initialisation, which fails without a GPU."""

import ctypes
import sys


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_ubyte * 128)]


nccl = ctypes.CDLL(sys.argv[1])
nccl.ncclCommInitRank.argtypes = [
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_int,
    UniqueId,
    ctypes.c_int,
]
sys.stdin.readline()
unique_id = UniqueId()
assert nccl.ncclGetUniqueId(ctypes.byref(unique_id)) == 0
assert nccl.ncclGroupStart() == 0
assert nccl.ncclGroupEnd() == 0
communicator = ctypes.c_void_p()
result = nccl.ncclCommInitRank(ctypes.byref(communicator), 2, unique_id, 1)
print(bytes(unique_id.internal).hex(), result)
