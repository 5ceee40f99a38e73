//! What NIC counters need: no privilege, only a device.

use crate::ingest::capability::{Host, Verdict};

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("NIC counters");
    verdict.wants_rdma_device(host);
    verdict
}
