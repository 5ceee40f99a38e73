#!/usr/bin/env python3
"""Checks the ICRC of every whole RoCEv2 packet in captures, using only the standard library.

Arguments: pcap files, gzip allowed. Standard output: a line per file, "checked bad". Whole means
that the capture kept the IP packet to its end; Ethernet, IPv4 without options or IPv6.
"""

import gzip
import struct
import sys
import zlib


def frames(path):
    """The captured bytes of each frame of a pcap file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    assert struct.unpack(order + "I", data[20:24])[0] == 1, "only Ethernet is read here"
    at = 24
    while at + 16 <= len(data):
        kept = struct.unpack(order + "I", data[at + 8 : at + 12])[0]
        yield data[at + 16 : at + 16 + kept]
        at += 16 + kept


def whole_packet(frame):
    """The IP packet of a whole RoCEv2 frame and the length of its IP header, else None."""
    ether_type = frame[12:14]
    ip = frame[14:]
    if ether_type == b"\x08\x00" and len(ip) >= 20 and ip[0] == 0x45 and ip[9] == 17:
        header, total = 20, struct.unpack(">H", ip[2:4])[0]
    elif ether_type == b"\x86\xdd" and len(ip) >= 40 and ip[6] == 17:
        header, total = 40, 40 + struct.unpack(">H", ip[4:6])[0]
    else:
        return None
    if len(ip) < total or ip[header + 2 : header + 4] != struct.pack(">H", 4791):
        return None
    return ip[:total], header


def icrc(packet, header):
    """The CRC over ones for the local route header, then the packet with changing fields as ones."""
    masked = bytearray(packet[:-4])
    if header == 20:
        masked[1] = masked[8] = 0xFF  # type of service, time to live
        masked[10:12] = b"\xff\xff"  # header checksum
    else:
        masked[0] |= 0x0F  # traffic class and flow label
        masked[1:4] = b"\xff\xff\xff"
        masked[7] = 0xFF  # hop limit
    masked[header + 6 : header + 8] = b"\xff\xff"  # UDP checksum
    masked[header + 12] = 0xFF  # BTH: F, B, reserved
    return struct.pack("<I", zlib.crc32(bytes(masked), zlib.crc32(b"\xff" * 8)))


def main():
    for path in sys.argv[1:]:
        checked = bad = 0
        for frame in frames(path):
            whole = whole_packet(frame)
            if whole:
                checked += 1
                bad += icrc(*whole) != whole[0][-4:]
        print(checked, bad)


main()
