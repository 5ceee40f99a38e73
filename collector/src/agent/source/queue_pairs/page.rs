//! `/queue_pairs.json`: the kernel's queue pairs when somebody asks, with processes and ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::ingest::process::Processes;
use crate::ingest::rdma_netlink::{NetlinkError, RdmaNetlink};
use railscope_core::model::process::Process;
use railscope_core::model::qpn::Qpn;
use railscope_core::model::queue_pair::{HostQueuePair, QueuePairOwner};
use railscope_core::report::Report;

/// A queue pair in `/queue_pairs.json`. Names of kinds and states are those of `rdma resource show qp`.
#[derive(Debug, Serialize)]
pub(in crate::agent) struct QueuePairRow {
    device: String,
    port: Option<u32>,
    qpn: u32,
    remote_qpn: Option<u32>,
    #[serde(rename = "type")]
    kind: &'static str,
    state: &'static str,
    /// The process, or its thread that made the queue pair; `null` for the kernel's own.
    pid: Option<u32>,
    /// Name of the process, or of the part of the kernel.
    name: Option<String>,
    /// Id of the container.
    container: Option<String>,
    /// Name of the container in its pod.
    container_name: Option<String>,
    /// UID of the Kubernetes pod.
    pod: Option<String>,
    /// Name of the pod.
    pod_name: Option<String>,
    /// Namespace of the pod.
    pod_namespace: Option<String>,
    slurm_job: Option<u32>,
    /// Name of the Slurm job.
    slurm_job_name: Option<String>,
    /// Rank by Slurm (`SLURM_PROCID`).
    slurm_task: Option<u32>,
    /// The communicator that it serves according to the latest report; `null` where that is not known.
    communicator: Option<String>,
    /// Rank in `communicator`.
    rank: Option<u32>,
    /// How certain that is: `proven`, `inferred` or `unknown`.
    grade: Option<&'static str>,
}

/// All queue pairs of the RDMA devices that this network namespace sees, older ones than the agent
/// included, with the ranks that a report knows.
///
/// # Errors
///
/// The kernel has no RDMA subsystem, or does not answer.
pub(in crate::agent) fn rows(
    processes: &Processes,
    served: &ServedRanks,
) -> Result<Vec<QueuePairRow>, NetlinkError> {
    let mut known: BTreeMap<u32, Option<Process>> = BTreeMap::new();
    let (pairs, failure) = RdmaNetlink::open()?.all_queue_pairs()?;
    if let Some(error) = failure.filter(|_| pairs.is_empty()) {
        return Err(error);
    }
    let rows = pairs.iter().map(|pair| {
        let process = match pair.owner {
            // It may have ended since.
            QueuePairOwner::Process(pid) => {
                known.entry(pid).or_insert_with(|| processes.identify(pid).ok()).as_ref()
            }
            QueuePairOwner::Kernel(_) | QueuePairOwner::Unknown => None,
        };
        let on_device = served.0.get(&pair.device);
        let rank = on_device.and_then(|known| known.get(&pair.local.value()));
        row(pair, process, rank)
    });
    Ok(rows.collect())
}

/// The ranks that a report knows, by device and number of the queue pair.
#[derive(Debug, Default)]
pub(in crate::agent) struct ServedRanks(BTreeMap<String, BTreeMap<u32, ServedRank>>);

/// The rank that a queue pair serves.
#[derive(Debug)]
struct ServedRank {
    communicator: Arc<str>,
    rank: u32,
    grade: &'static str,
}

impl ServedRanks {
    /// Those of `report`.
    pub(in crate::agent) fn of(report: &Report) -> Self {
        let mut served = Self::default();
        for communicator in &report.communicators {
            let id: Arc<str> = communicator.id.as_str().into();
            for rank in &communicator.ranks {
                for pair in &rank.queue_pairs {
                    let Some(device) = &pair.device else { continue };
                    let one = ServedRank {
                        communicator: Arc::clone(&id),
                        rank: rank.rank,
                        grade: pair.grade,
                    };
                    served.0.entry(device.clone()).or_default().insert(pair.qpn, one);
                }
            }
        }
        served
    }
}

fn row(
    pair: &HostQueuePair,
    process: Option<&Process>,
    served: Option<&ServedRank>,
) -> QueuePairRow {
    let (pid, kernel) = match &pair.owner {
        QueuePairOwner::Process(pid) => (Some(*pid), None),
        QueuePairOwner::Kernel(name) => (None, Some(name.clone())),
        QueuePairOwner::Unknown => (None, None),
    };
    let slurm = process.and_then(|process| process.slurm.as_ref());
    let names = process.and_then(|process| process.pod_names.as_ref());
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
        container_name: names.and_then(|names| names.container.clone()),
        pod: process.and_then(|process| process.pod.clone()),
        pod_name: names.map(|names| names.pod.clone()),
        pod_namespace: names.map(|names| names.namespace.clone()),
        slurm_job: slurm.map(|slurm| slurm.job),
        slurm_job_name: slurm.and_then(|slurm| slurm.name.clone()),
        slurm_task: slurm.and_then(|slurm| slurm.task),
        communicator: served.map(|served| served.communicator.to_string()),
        rank: served.map(|served| served.rank),
        grade: served.map(|served| served.grade),
    }
}
