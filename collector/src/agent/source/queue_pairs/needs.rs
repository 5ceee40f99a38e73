//! What the kernel's list of queue pairs needs: no privilege, only a device.

use crate::ingest::capability::{Host, Verdict};

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("queue pairs as listed by the kernel");
    verdict.wants_rdma_device(host);
    verdict
}
