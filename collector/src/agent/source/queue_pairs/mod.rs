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
use railscope_core::model::queue_pair::{HostQueuePair, QueuePairOwner};

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
                let processes = Processes::new(&opening.config.host.proc);
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
