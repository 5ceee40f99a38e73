"""Writes eight times from host 0 to host 1 over one connection, the last time with an R_Key that
host 1 never issued. All RDMA devices are visible here, so one process is both ends."""

import sys
import time

import pyverbs.enums as e
from pyverbs.wr import SGE, SendWR

from end import BYTES, End

GOOD_WRITES = 7
# One packet: the NAK cannot interrupt the message.
REFUSED_BYTES = 1000


def write(sender, receiver, rkey, size):
    """Does one RDMA WRITE; returns the status of its completion."""
    request = SendWR(
        opcode=e.IBV_WR_RDMA_WRITE,
        num_sge=1,
        sg=[SGE(sender.mr.buf, size, sender.mr.lkey)],
        send_flags=e.IBV_SEND_SIGNALED,
    )
    request.set_wr_rdma(rkey, receiver.mr.buf)
    sender.qp.post_send(request)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        count, completions = sender.cq.poll(1)
        if count:
            return completions[0].status
    sys.exit("no completion in 20 s")


client, server = End(0), End(1)
client.connect(server.qp.qp_num, server.gid)
server.connect(client.qp.qp_num, client.gid)
statuses = [write(client, server, server.mr.rkey, BYTES) for _ in range(GOOD_WRITES)]
statuses.append(write(client, server, server.mr.rkey ^ 0x5500, REFUSED_BYTES))
print(statuses)
wanted = [e.IBV_WC_SUCCESS] * GOOD_WRITES + [e.IBV_WC_REM_ACCESS_ERR]
sys.exit(statuses != wanted)
