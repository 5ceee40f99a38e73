//! A responder rejected a request with a fatal NAK.

use crate::analysis::finding::claim::transport::TransportClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::group::by_port;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FlowObservation;
use crate::analysis::finding::{Finding, Proof, naming};
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::decode::roce::aeth::{NakCode, Syndrome};
use crate::flow::observer::Signal;

/// Remote access errors and the like.
pub const KIND: Kind = Kind {
    id: "remote_access_error",
    about: "A responder rejected a request with a fatal NAK: remote access error (bad R_Key, \
            address or permission), invalid request, or remote operational error. The queue pair \
            enters the error state, and the job fails with it.",
    threshold: "Any such NAK (IBTA volume 1, section 9.7.5.2: no retry follows).",
    remedy: "Find out who freed or never registered that memory: `railscope packets` shows R_Key \
             and address of the request. Under NCCL, look for that rank's first NCCL WARN, mixed \
             releases of NCCL or a plugin, and GPUDirect trouble (nvidia-peermem, ACS).",
    needs: &[Need::Roce],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let groups = by_port(facts.flows, amount);
    let found = groups.iter().map(|group| {
        let worst = group.worst();
        let reason = worst.map_or("", commonest);
        let (naks, flows) = (group.sum(), naming::group(group));
        let claim = TransportClaim::Refused { naks, flows, reason };
        let mut finding = KIND
            .finding(Severity::Critical, claim)
            .caused_by(reason)
            .about(group.subject())
            .over(group.span())
            .proven();
        finding.flows = group.places();
        let Some(worst) = worst else { return finding };
        let witness = facts.first_signal(worst, is_fatal);
        finding.because(Proof::flow(worst, FlowObservation::ErrorState, witness))
    });
    found.collect()
}

fn amount(flow: &QueuePair) -> u64 {
    flow.fatal_naks()
}

fn is_fatal(signal: &Signal) -> bool {
    match signal {
        Signal::Nak(Syndrome::Nak(code)) => *code != NakCode::PsnSequenceError,
        Signal::Nak(Syndrome::Reserved(_)) => true,
        _ => false,
    }
}

fn commonest(flow: &QueuePair) -> &'static str {
    let refusals = flow.naks.refusals();
    refusals.iter().rev().max_by_key(|(naks, _)| *naks).map_or("", |(_, reason)| reason)
}
