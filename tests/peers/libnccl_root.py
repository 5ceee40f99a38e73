"""The driver's ranks against the root thread of a real libnccl.so.2, which needs no GPU.

    libnccl_root.py PEERS LIBNCCL RELEASE [RANKS]

PEERS is the example program `peers` (cargo build --example peers), LIBNCCL the library of the wheel
nvidia-nccl-cu12, RELEASE the protocol that the driver speaks: 2.21.5 or 2.27.7. ncclGetUniqueId starts the root;
the driver plays all ranks, which check in, get their answers, build the ring and gather over it.
"""

import ctypes
import os
import subprocess
import sys


def main():
    peers, library, release = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
    ranks = sys.argv[4] if len(sys.argv) > 4 else "4"
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    nccl = ctypes.CDLL(library)
    version = ctypes.c_int()
    nccl.ncclGetVersion(ctypes.byref(version))
    unique_id = (ctypes.c_ubyte * 128)()
    result = nccl.ncclGetUniqueId(ctypes.byref(unique_id))
    if result != 0:
        sys.exit(f"ncclGetUniqueId: {result}")
    print(f"libnccl {version.value}, unique id {bytes(unique_id).hex()[:72]}...", flush=True)
    command = [peers, "ranks", release, ranks, bytes(unique_id).hex()]
    sys.exit(subprocess.run(command, timeout=60).returncode)


if __name__ == "__main__":
    main()
