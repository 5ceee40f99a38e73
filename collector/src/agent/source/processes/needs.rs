//! Privileges for reading about other users' processes.

use crate::ingest::capability::{Capability, Host, Verdict};

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("containers, pods and Slurm jobs of processes");
    verdict.wants(
        host,
        &[Capability::SysPtrace, Capability::DacReadSearch],
        "environments of other users' processes are not read: Slurm's ranks and job names are not \
         known",
    );
    verdict
}
