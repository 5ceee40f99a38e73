//! What the kernel programs at traffic control need.

use crate::ingest::capability::{Capability, Host, KernelRelease, Verdict};

/// Programs attached by links that end with their process.
const TCX: KernelRelease = KernelRelease(6, 6);

/// Whether they can run here.
#[must_use]
pub fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("packets via BPF (tc)");
    verdict.needs_bpf(host);
    verdict.needs(host, Capability::NetAdmin, "to attach to interfaces");
    verdict.needs_or_admin(host, Capability::Perfmon, "to read packets where they lie");
    if host.kernel.is_some_and(|kernel| kernel < TCX) {
        verdict.lesser.push(format!(
            "before Linux {TCX} there is no TCX: programs are attached as clsact filters, and one \
             that is killed leaves them behind until the next start"
        ));
    }
    verdict
}
