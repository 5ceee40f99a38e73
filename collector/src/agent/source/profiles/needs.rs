//! What reading rings of NCCL's profiler plugin needs: to see into processes of other users.

use crate::ingest::capability::{Capability, Host, KernelRelease, Verdict};

/// Files are opened below the root of a process's container (openat2).
const OPENAT2: KernelRelease = KernelRelease(5, 6);

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("waits in rings of NCCL's profiler plugin");
    verdict.needs_release(host, OPENAT2, "for openat2");
    verdict.wants(
        host,
        &[Capability::SysPtrace, Capability::DacReadSearch],
        "rings of other users' processes and in containers are not read",
    );
    verdict
}
