//! A capture that ended while its host went on.

use std::collections::HashMap;

use super::Rule;
use crate::analysis::severity::Severity;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};
use crate::model::address::HostAddress;
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
    let latest = Latest::of(evidence);
    (0..taps).filter_map(|tap| verdict(evidence, &latest, TapId(tap))).collect()
}

fn verdict(evidence: &Evidence<'_>, latest: &Latest, tap: TapId) -> Option<Verdict> {
    let state = evidence.facts.state;
    let last = state.aligned(tap, state.tracker.tap(tap)?.span?.last);
    let near = &state.positions.get(tap.0 as usize)?.near;
    let seen = near.keys().filter_map(|port| Some((*port, latest.elsewhere(tap, *port)?)));
    let (port, until) = seen.max_by_key(|one| one.1)?;
    if until.nanos_since(last) < APART_NS {
        return None;
    }
    let subject = VerdictSubject { port: Some(port.to_ip()), ..VerdictSubject::default() };
    let claim = VerdictClaim::CaptureStopped { missed_ns: until.nanos_since(last) };
    let mut verdict = Verdict::new(Class::CaptureStopped, Severity::Info, subject, claim);
    verdict.grade = Grade::Proven;
    verdict.span = Some(Span { first: last, last: until });
    Some(verdict)
}

/// The last packet from each port, at the two taps that saw the latest ones; retransmissions come from a NIC that
/// still runs.
struct Latest(HashMap<HostAddress, [Option<(Timestamp, TapId)>; 2]>);

impl Latest {
    fn of(evidence: &Evidence<'_>) -> Self {
        let state = evidence.facts.state;
        let mut latest: HashMap<_, [Option<(Timestamp, TapId)>; 2]> = HashMap::new();
        for flow in state.tracker.flows().flows() {
            let tap = flow.key.tap;
            let seen = Some((state.aligned_span(flow).last, tap));
            let [first, second] = latest.entry(flow.key.source).or_default();
            if first.is_some_and(|(_, known)| known == tap) {
                *first = seen.max(*first);
            } else if seen > *first {
                (*first, *second) = (seen, *first);
            } else {
                *second = seen.max(*second);
            }
        }
        Self(latest)
    }

    /// The last packet from `port` that a tap other than this one saw.
    fn elsewhere(&self, tap: TapId, port: HostAddress) -> Option<Timestamp> {
        let known = self.0.get(&port)?.iter().flatten();
        known.filter(|(_, at)| *at != tap).map(|(time, _)| *time).max()
    }
}
