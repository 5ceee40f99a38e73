"""Sends the frames of pcap files with nanoseconds, each out of an interface, at their own pace.

Arguments: INTERFACE=FILE... Prints nothing; ends after the last frame.
"""

import heapq
import socket
import struct
import sys
import time


def frames(interface, path):
    """Times in nanoseconds, socket, captured bytes and lengths of the frames of a file."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((interface, 0))
    with open(path, "rb") as file:
        assert file.read(24)[:4] == b"\x4d\x3c\xb2\xa1", path
        while header := file.read(16):
            seconds, nanos, kept, length = struct.unpack("<IIII", header)
            yield seconds * 10**9 + nanos, out, file.read(kept), length


files = [argument.split("=", 1) for argument in sys.argv[1:]]
first = begun = None
for at, out, frame, length in heapq.merge(*(frames(*one) for one in files), key=lambda one: one[0]):
    if first is None:
        first, begun = at, time.monotonic_ns()
    early = (at - first) - (time.monotonic_ns() - begun)
    if early > 200_000:
        time.sleep(early / 1e9)
    # The content of the cut part does not matter, but its length does.
    out.send(frame + bytes(length - len(frame)))
