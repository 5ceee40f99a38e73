"""Sends PFC pause frames for priority 3 out of an interface for a number of seconds.

They are what a congested switch sends: IEEE 802.1Qbb, with a quanta field of 0xffff. At a rate of 1000 a
second, a link of any speed that the agent knows is paused for a large share of the time.
"""

import socket
import struct
import sys
import time

interface, seconds = sys.argv[1], float(sys.argv[2])
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((interface, 0))
quanta = [0xFFFF if priority == 3 else 0 for priority in range(8)]
frame = bytes.fromhex("0180c2000001" "02000000c001" "8808" "0101" "0008") + struct.pack(">8H", *quanta)
frame = frame.ljust(60, b"\0")
end = time.monotonic() + seconds
while time.monotonic() < end:
    out.send(frame)
    time.sleep(0.001)
