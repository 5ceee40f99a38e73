"""One end of a reliable connection on a soft-RoCE device, rxeN of host N."""

from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
import pyverbs.enums as e
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

BYTES = 3000
PORT = 1


class End:
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

    def connect(self, qpn, gid):
        """Connects to the queue pair with this number, at the port with this GID."""
        attr = QPAttr(port_num=PORT)
        attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
        self.qp.to_init(attr)
        attr = QPAttr(port_num=PORT)
        attr.path_mtu = e.IBV_MTU_1024
        attr.dest_qp_num = qpn
        attr.rq_psn, attr.sq_psn = 100, 100
        attr.min_rnr_timer = 12
        attr.timeout, attr.retry_cnt, attr.rnr_retry = 14, 7, 7
        route = GlobalRoute(dgid=gid, sgid_index=self.gid_index)
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=PORT)
        self.qp.to_rts(attr)
