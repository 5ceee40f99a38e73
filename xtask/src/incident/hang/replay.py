"""Sends the frames of pcap files with nanoseconds, each out of an interface, at their own pace.

Arguments: MARK SECONDS INTERFACE=FILE... Makes the file MARK when so many seconds of the captures are left;
a machine that is too slow for the pace gets there late. Prints nothing; ends after the last frame.
"""

import heapq
import pathlib
import socket
import struct
import sys
import time


def records(path):
    """Times in nanoseconds, captured bytes and lengths of the frames of a file."""
    with open(path, "rb") as file:
        assert file.read(24)[:4] == b"\x4d\x3c\xb2\xa1", path
        while header := file.read(16):
            seconds, nanos, kept, length = struct.unpack("<IIII", header)
            yield seconds * 10**9 + nanos, file.read(kept), length


def frames(interface, path):
    """The same, with the socket that sends them."""
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.bind((interface, 0))
    for at, frame, length in records(path):
        yield at, out, frame, length


mark, seconds, *arguments = sys.argv[1:]
files = [argument.split("=", 1) for argument in arguments]
marked = max(at for _, path in files for at, _, _ in records(path)) - int(float(seconds) * 10**9)
first = begun = None
for at, out, frame, length in heapq.merge(*(frames(*one) for one in files), key=lambda one: one[0]):
    if first is None:
        first, begun = at, time.monotonic_ns()
    early = (at - first) - (time.monotonic_ns() - begun)
    if early > 200_000:
        time.sleep(early / 1e9)
    if at >= marked:
        pathlib.Path(mark).touch()
        marked = float("inf")
    # The content of the cut part does not matter, but its length does.
    out.send(frame + bytes(length - len(frame)))
