//! A capture that ended while its host went on.

use std::net::IpAddr;

use super::Rule;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};
use crate::model::grade::Grade;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Captures hardly ever end at the same moment: a shorter difference is no failure, in nanoseconds.
const APART_NS: u64 = 1_000_000_000;

/// Captures that stopped.
pub const RULE: Rule = Rule {
    reason: "Packets that another tap saw coming from a host after its own tap had ended show that the \
             capture stopped, not the host.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let taps = evidence.facts.state.tracker.taps().len() as u32;
    (0..taps).filter_map(|tap| verdict(evidence, TapId(tap))).collect()
}

fn verdict(evidence: &Evidence<'_>, tap: TapId) -> Option<Verdict> {
    let state = evidence.facts.state;
    let last = state.aligned(tap, state.tracker.tap(tap)?.span?.last);
    let near = &state.positions.get(tap.0 as usize)?.near;
    let seen = near
        .keys()
        .map(|address| (address.to_ip(), last_elsewhere(evidence, tap, address.to_ip())));
    let (port, until) =
        seen.filter_map(|(port, until)| Some((port, until?))).max_by_key(|one| one.1)?;
    if until.nanos_since(last) < APART_NS {
        return None;
    }
    let subject = VerdictSubject { port: Some(port), ..VerdictSubject::default() };
    let claim = VerdictClaim::CaptureStopped { missed_ns: until.nanos_since(last) };
    let mut verdict = Verdict::new(Class::CaptureStopped, Severity::Info, subject, claim);
    verdict.grade = Grade::Proven;
    verdict.span = Some(Span { first: last, last: until });
    Some(verdict)
}

/// The last packet from `port` that another tap saw; retransmissions come from a NIC that still runs.
fn last_elsewhere(evidence: &Evidence<'_>, tap: TapId, port: IpAddr) -> Option<Timestamp> {
    let state = evidence.facts.state;
    let flows = state.tracker.flows().flows().iter();
    let others = flows.filter(|flow| flow.key.tap != tap && flow.key.source.to_ip() == port);
    others.map(|flow| state.aligned_span(flow).last).max()
}
