//! Queue pairs of this host as the kernel lists them, with their processes.

pub(in crate::agent) mod page;

mod needs;

use std::collections::BTreeMap;

use super::beside::{Beside, Delivery};
use super::contract::{Context, Opened, Opening, Source};
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::process::Processes;
use crate::ingest::rdma_netlink::{NetlinkError, RdmaNetlink};
use railscope_core::model::process::Process;
use railscope_core::model::queue_pair::{HostQueuePair, QueuePairOwner, QueuePairUser};

/// Rounds of the thread from one list to the next, 5 s: for each list the kernel asks the device
/// about every queue pair.
const LIST_EVERY: u32 = 20;

/// The source.
pub(super) struct QueuePairs;

impl Source for QueuePairs {
    fn key(&self) -> &'static str {
        "sources.processes"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.processes
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened {
        match RdmaNetlink::open() {
            Ok(kernel) => {
                context.visibility.add_seeing("queue_pairs", "all");
                let processes = opening.processes.clone();
                Opened::Beside(Box::new(Listing { kernel, processes }))
            }
            Err(error) => {
                let why = "the kernel has no RDMA subsystem";
                context.visibility.add_blind("queue_pairs", "all", why);
                (context.say)(format!("queue pairs: {:#}", anyhow::Error::from(error)));
                Opened::Nothing
            }
        }
    }
}

/// The list, read periodically.
struct Listing {
    kernel: RdmaNetlink,
    processes: Processes,
}

impl Beside for Listing {
    fn name(&self) -> &'static str {
        "queue pairs"
    }

    fn every(&self) -> u32 {
        LIST_EVERY
    }

    fn read(&mut self, is_last: bool, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()> {
        // A device may take long to answer, and the agent is ending.
        if is_last {
            return Ok(());
        }
        let (pairs, failure) = self.list()?;
        let users = users(&self.processes, &pairs);
        deliver(Box::new(|pipeline, _| pipeline.processes_mut().observe_users(users)));
        deliver(Box::new(|pipeline, _| pipeline.processes_mut().observe_queue_pairs(pairs)));
        for (event, count) in self.kernel.take_health().iter() {
            deliver(Box::new(move |pipeline, _| pipeline.add_health(event, count)));
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}

impl Listing {
    /// All queue pairs, and why some are missing. The kernel names the thread that made a queue
    /// pair; here its process is the owner.
    fn list(&mut self) -> Result<(Vec<HostQueuePair>, Option<NetlinkError>), NetlinkError> {
        let Self { kernel, processes } = self;
        let (mut pairs, failure) = kernel.all_queue_pairs()?;
        let mut known: BTreeMap<u32, u32> = BTreeMap::new();
        for pair in &mut pairs {
            if let QueuePairOwner::Process(pid) = &mut pair.owner {
                let process = || processes.of_thread(*pid).unwrap_or(*pid);
                *pid = *known.entry(*pid).or_insert_with(process);
            }
        }
        Ok((pairs, failure))
    }
}

/// Number of queue pairs by user, of processes that are still there.
fn users(processes: &Processes, pairs: &[HostQueuePair]) -> BTreeMap<QueuePairUser, u64> {
    let mut known: BTreeMap<u32, Option<Process>> = BTreeMap::new();
    let mut users = BTreeMap::new();
    for pair in pairs {
        let QueuePairOwner::Process(pid) = pair.owner else { continue };
        let process = known.entry(pid).or_insert_with(|| processes.identify(pid).ok());
        let Some(process) = process else { continue };
        let user = QueuePairUser {
            device: pair.device.clone(),
            port: pair.port,
            process: process.name.clone(),
            pod: process.pod.clone(),
            pod_names: process.pod_names.clone(),
            slurm_job: process.slurm.as_ref().map(|slurm| slurm.job),
            slurm_job_name: process.slurm.as_ref().and_then(|slurm| slurm.name.clone()),
        };
        *users.entry(user).or_insert(0) += 1;
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;
    use railscope_core::model::qpn::Qpn;
    use railscope_core::model::queue_pair::{QueuePairKind, QueuePairState};

    #[test]
    fn queue_pairs_are_counted_by_user() {
        let own = std::process::id();
        let pair = |owner| HostQueuePair {
            device: "mlx5_0".to_owned(),
            port: Some(1),
            local: Qpn::new(7),
            remote: None,
            kind: QueuePairKind::ReliableConnection,
            state: QueuePairState::ReadyToSend,
            owner,
        };
        let ended = QueuePairOwner::Process(u32::MAX);
        let kernel = QueuePairOwner::Kernel("mlx5_ib".to_owned());
        let owners = [QueuePairOwner::Process(own), QueuePairOwner::Process(own), ended, kernel];
        let users = users(&Processes::new("/proc"), &owners.map(pair));
        let all: Vec<_> =
            users.iter().map(|(user, count)| (user.device.as_str(), *count)).collect();
        assert_eq!(all, [("mlx5_0", 2)]);
    }
}
