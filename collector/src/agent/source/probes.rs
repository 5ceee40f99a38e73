//! Kernel programs that watch processes, as `calls` and `connections` both do. Each opens its own
//! programs, so that a missing privilege of one does not stop the other.

use std::time::Duration;

use super::beside::{Beside, Delivery, delivery};
use super::contract::{Context, Opened, Opening};
use crate::ingest::capability::Verdict;
use crate::ingest::ebpf::EbpfError;
use crate::ingest::probe::{ProbeConfig, ProbeEvent, Probes};

/// Room for records, MiB: 20,000 calls.
const RING_MEBIBYTES: u32 = 8;

/// What a source makes of its own events; `None` for those of the other source.
type Take = Box<dyn FnMut(ProbeEvent) -> Option<Delivery> + Send>;

/// What a source watches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    /// Calls of libraries.
    Calls,
    /// TCP connections.
    Connections,
}

/// Running programs, and the function that takes their events.
struct Watching {
    name: &'static str,
    probes: Probes,
    take: Take,
}

/// Loads the programs, if `needs` allows it.
pub(super) fn open(
    watched: Watched,
    needs: &Verdict,
    take: Take,
    opening: &Opening<'_>,
    context: &mut Context<'_>,
) -> Opened {
    let name = match watched {
        Watched::Calls => "calls",
        Watched::Connections => "connections",
    };
    let config = ProbeConfig {
        calls: watched == Watched::Calls,
        connections: watched == Watched::Connections,
        proc: opening.config.host.proc.clone(),
        ring_mebibytes: RING_MEBIBYTES,
        logs: opening.config.logs_kernel_programs,
    };
    match EbpfError::unless_runs(needs).and_then(|()| Probes::open(&config)) {
        Ok(probes) => {
            probes.completeness().into_iter().for_each(&mut *context.say);
            context.visibility.add_seeing(name, "all");
            Opened::Beside(Box::new(Watching { name, probes, take }))
        }
        Err(error) => {
            context.visibility.add_blind(name, "all", "kernel programs cannot be loaded");
            (context.say)(format!("{name}: {:#}", anyhow::Error::from(error)));
            Opened::Nothing
        }
    }
}

impl Beside for Watching {
    fn name(&self) -> &'static str {
        self.name
    }

    fn read(&mut self, is_last: bool, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()> {
        let Self { probes, take, .. } = self;
        probes.poll(is_last, &mut |event| {
            let made = match event {
                ProbeEvent::Missed { event, count } => {
                    Some(delivery(move |pipeline, _| pipeline.add_health(event, count)))
                }
                ProbeEvent::Watched { path, functions } => {
                    Some(said(format!("calls of {path} are seen: {functions} functions")))
                }
                ProbeEvent::Warning(words) => Some(said(words)),
                own => take(own),
            };
            made.into_iter().for_each(&mut *deliver);
        })?;
        Ok(())
    }

    fn kernel_times(&self) -> Vec<(String, Duration)> {
        self.probes.costs().into_iter().map(|cost| (cost.name, cost.time)).collect()
    }
}

fn said(words: String) -> Delivery {
    delivery(move |_, say| say(words))
}
