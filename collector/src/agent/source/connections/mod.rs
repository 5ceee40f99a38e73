//! TCP connections of this host, with the processes that opened them.

mod needs;

use super::beside::delivery;
use super::contract::{Context, Opened, Opening, Source};
use super::probes::{self, Watched};
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::probe::ProbeEvent;

/// The source.
pub(super) struct Connections;

impl Source for Connections {
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
        let take = |event| {
            let ProbeEvent::Connection(change) = event else { return None };
            Some(delivery(move |pipeline, _| {
                pipeline.processes_mut().observe_connection(&change);
            }))
        };
        probes::open(
            Watched::Connections,
            &needs::needs(opening.rights),
            Box::new(take),
            opening,
            context,
        )
    }
}
