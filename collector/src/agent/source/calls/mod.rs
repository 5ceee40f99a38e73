//! Calls of libnccl and libibverbs by all processes of this host.

mod needs;
mod shares;

use self::shares::Shares;
use super::beside::delivery;
use super::contract::{Context, Opened, Opening, Source};
use super::probes::{self, Watched};
use super::processes::describe;
use crate::config::SourceConfig;
use crate::ingest::capability::{Host, Verdict};
use crate::ingest::probe::ProbeEvent;
use crate::ingest::process::Processes;
use railscope_core::model::call::{Action, Call};
use railscope_core::model::health::event::HealthEvent;

/// The source.
pub(super) struct Calls;

impl Source for Calls {
    fn key(&self) -> &'static str {
        "sources.calls"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.calls
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        vec![needs::needs(host)]
    }

    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened {
        let processes = opening.processes.clone();
        let mut shares = Shares::default();
        let take = move |event| {
            let ProbeEvent::Call(mut call) = event else { return None };
            call.caller.payer = shares.payer(&call.caller, &processes);
            if !shares.admit(call.caller.payer) {
                return None;
            }
            let refused = shares.take_refused();
            let introduction = introduction(&call, &processes, &mut shares);
            Some(delivery(move |pipeline, say| {
                pipeline.add_health(HealthEvent::CallsRefused, refused);
                pipeline.processes_mut().observe(&call);
                introduction.into_iter().for_each(say);
            }))
        };
        probes::open(
            Watched::Calls,
            &needs::needs(opening.rights),
            Box::new(take),
            opening,
            context,
        )
    }
}

/// A sentence about a process that has become a rank.
fn introduction(call: &Call, processes: &Processes, shares: &mut Shares) -> Option<String> {
    let Action::Initialise { nranks, rank, communicator: Some(_), .. } = call.action else {
        return None;
    };
    if !call.returned.is_some_and(|returned| returned.is_success) || rank >= nranks {
        return None;
    }
    let pid = call.caller.pid;
    if !shares.introduces(pid) {
        return None;
    }
    let who = match processes.identify(pid) {
        Ok(process) => describe(&process),
        Err(error) => error.to_string(),
    };
    Some(format!("rank {rank} of {nranks} is process {pid}: {who}"))
}
