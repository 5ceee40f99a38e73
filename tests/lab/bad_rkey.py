"""Writes eight times from host 0 to host 1 over one connection, the last time with an R_Key that
host 1 never gave out. All RDMA devices are visible from here, so one process is both ends."""

import sys
import time

from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

GOOD_WRITES = 7
BYTES = 3000
# One packet: the NAK cannot cut the message short.
REFUSED_BYTES = 1000
PORT = 1


class End:
    """One end of the connection."""

    def __init__(self, host):
        self.context = Context(name=f"rxe{host}")
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
        self.mr = MR(self.pd, BYTES, access)
        capacity = QPCap(max_send_wr=16, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=capacity))
        self.gid_index, self.gid = next(
            (index, gid)
            for index in range(8)
            for gid in [self.context.query_gid(PORT, index)]
            if str(gid).endswith(f"ffff:0a00:{host + 1:04x}")
        )

    def connect(self, other):
        attr = QPAttr(port_num=PORT)
        attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        self.qp.to_init(attr)
        attr = QPAttr(port_num=PORT)
        attr.path_mtu = e.IBV_MTU_1024
        attr.dest_qp_num = other.qp.qp_num
        attr.rq_psn, attr.sq_psn = 100, 100
        attr.min_rnr_timer = 12
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        route = GlobalRoute(dgid=other.gid, sgid_index=self.gid_index)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        self.qp.to_rts(attr)


def write(sender, receiver, rkey, size):
    """One RDMA WRITE; the status of its completion."""
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
client.connect(server)
server.connect(client)
statuses = [write(client, server, server.mr.rkey, BYTES) for _ in range(GOOD_WRITES)]
statuses.append(write(client, server, server.mr.rkey ^ 0x5500, REFUSED_BYTES))
print(statuses)
wanted = [e.IBV_WC_SUCCESS] * GOOD_WRITES + [e.IBV_WC_REM_ACCESS_ERR]
sys.exit(statuses != wanted)
