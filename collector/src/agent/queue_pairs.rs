//! The queue pairs of this host and whose they are, listed by the kernel when somebody asks.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::ingest::process::Processes;
use crate::ingest::rdma_netlink::{NetlinkError, RdmaNetlink};
use crate::model::process::Process;
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{HostQueuePair, QueuePairOwner};

/// A queue pair in `/queue_pairs.json`. Names of kinds and states are those of `rdma resource show qp`.
#[derive(Debug, Serialize)]
pub(super) struct QueuePairRow {
    device: String,
    port: Option<u32>,
    qpn: u32,
    remote_qpn: Option<u32>,
    #[serde(rename = "type")]
    kind: &'static str,
    state: &'static str,
    /// The process, or the thread of it that made the queue pair; `null` for the kernel's own.
    pid: Option<u32>,
    /// Name of the process, or of the part of the kernel.
    name: Option<String>,
    /// Id of the container.
    container: Option<String>,
    /// UID of the Kubernetes pod.
    pod: Option<String>,
    slurm_job: Option<u32>,
    /// Rank by Slurm (`SLURM_PROCID`).
    slurm_task: Option<u32>,
}

/// All queue pairs of the RDMA devices that this network namespace sees, those included that are older
/// than the agent.
///
/// # Errors
///
/// The kernel has no RDMA subsystem, or does not answer.
pub(super) fn list(proc: &Path) -> Result<Vec<QueuePairRow>, NetlinkError> {
    let mut kernel = RdmaNetlink::open()?;
    let processes = Processes::new(proc);
    let mut known: BTreeMap<u32, Option<Process>> = BTreeMap::new();
    let mut rows = Vec::new();
    for device in kernel.devices()? {
        for pair in kernel.queue_pairs(device.index)? {
            let process = match pair.owner {
                // One that has gone since is nobody.
                QueuePairOwner::Process(pid) => {
                    known.entry(pid).or_insert_with(|| processes.identify(pid).ok()).as_ref()
                }
                QueuePairOwner::Kernel(_) | QueuePairOwner::Unknown => None,
            };
            rows.push(row(&pair, process));
        }
    }
    Ok(rows)
}

fn row(pair: &HostQueuePair, process: Option<&Process>) -> QueuePairRow {
    let (pid, kernel) = match &pair.owner {
        QueuePairOwner::Process(pid) => (Some(*pid), None),
        QueuePairOwner::Kernel(name) => (None, Some(name.clone())),
        QueuePairOwner::Unknown => (None, None),
    };
    let slurm = process.and_then(|process| process.slurm.as_ref());
    QueuePairRow {
        device: pair.device.clone(),
        port: pair.port,
        qpn: pair.local.value(),
        remote_qpn: pair.remote.map(Qpn::value),
        kind: pair.kind.name(),
        state: pair.state.name(),
        pid,
        name: kernel.or_else(|| process.map(|process| process.name.clone())),
        container: process.and_then(|process| Some(process.container.as_ref()?.id.clone())),
        pod: process.and_then(|process| process.pod.clone()),
        slurm_job: slurm.map(|slurm| slurm.job),
        slurm_task: slurm.and_then(|slurm| slurm.task),
    }
}
