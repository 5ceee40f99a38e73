"""Sends the frames of classic pcap files out of an interface, in time order."""

import heapq
import socket
import struct
import sys


def frames(path):
    """Times, captured bytes and lengths of the frames of a file."""
    with open(path, "rb") as file:
        magic = file.read(24)[:4]
        order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        while header := file.read(16):
            seconds, part, kept, length = struct.unpack(order + "IIII", header)
            yield (seconds, part), file.read(kept), length


interface, *paths = sys.argv[1:]
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((interface, 0))
for _, frame, length in heapq.merge(*map(frames, paths), key=lambda frame: frame[0]):
    # The content of the cut part does not matter, but its length does.
    out.send(frame + bytes(length - len(frame)))
