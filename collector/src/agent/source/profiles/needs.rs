//! What reading rings of NCCL's profiler plugin needs: to see into processes of other users.

use crate::ingest::capability::{Capability, Host, Verdict};

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("waits in rings of NCCL's profiler plugin");
    verdict.wants(
        host,
        &[Capability::SysPtrace, Capability::DacReadSearch],
        "rings of other users' processes and in containers are not read",
    );
    verdict
}
