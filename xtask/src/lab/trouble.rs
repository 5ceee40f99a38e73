//! Retransmissions, holes and recoveries that railscope reports for a case: the expected ones and no
//! others.

use super::analysis::Flow;
use super::case::{Case, HOSTS, addresses};
use super::facts::Facts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Sequence numbers skipped before a receiver.
    Missing,
    /// Packets that reached a receiver out of order.
    Late,
    /// Packets that a sender retransmitted.
    Resent,
    SequenceNak,
    RnrNak,
    AccessNak,
    OtherNak,
    Ce,
    /// Recoveries, by trigger.
    AfterNak,
    AfterRnr,
    AfterSilence,
    AfterUnknown,
}

use Trouble::{
    AccessNak, AfterNak, AfterRnr, AfterSilence, AfterUnknown, Ce, Late, Missing, OtherNak, Resent,
    RnrNak, SequenceNak,
};

const ALL: &[Trouble] = &[
    Missing,
    Late,
    Resent,
    SequenceNak,
    RnrNak,
    AccessNak,
    OtherNak,
    Ce,
    AfterNak,
    AfterRnr,
    AfterSilence,
    AfterUnknown,
];

/// What rxe does by itself if its timer expires on a slow machine.
const BY_ITSELF: &[Trouble] = &[Resent, SequenceNak, AfterNak, AfterSilence, AfterUnknown];

/// Checks that everything `expected` is reported, and otherwise only what is `possible` or
/// rxe's own retransmission.
pub(super) fn check(case: &Case, expected: &[Trouble], possible: &[Trouble], facts: &mut Facts) {
    facts.about(&case.name);
    for &trouble in ALL {
        let found = count(case, trouble);
        if expected.contains(&trouble) {
            facts.some(&format!("{trouble:?}"), found);
            continue;
        }
        let of_itself = case.retries() > 0 && BY_ITSELF.contains(&trouble);
        if !of_itself && !possible.contains(&trouble) {
            facts.equal(&format!("{trouble:?}"), found, 0);
        }
    }
}

/// Its count in both directions, from the tap that can see it.
fn count(case: &Case, trouble: Trouble) -> u64 {
    HOSTS.map(|host| count_at(case, host, trouble)).iter().sum()
}

fn count_at(case: &Case, host: usize, trouble: Trouble) -> u64 {
    let (own, other) = (addresses(host), addresses(1 - host));
    let report = &case.taps[host].report;
    let sum_of = |from: &[String], part: fn(&Flow) -> Option<u64>| {
        report.from(from).filter_map(part).sum::<u64>()
    };
    let sum_of_own = |trigger: &str| {
        let episodes = report.from(&own).flat_map(|flow| &flow.episodes);
        episodes.filter(|episode| episode.trigger == trigger).map(|episode| episode.count).sum()
    };
    let tallies = report.tallies();
    let tallies = || tallies.iter().filter(|(name, _)| own.contains(&name.0)).map(|(_, t)| t);
    match trouble {
        Missing => sum_of(&other, |flow| {
            Some(flow.psn.gap_packets? + flow.psn.response_gap_packets.unwrap_or(0))
        }),
        Late => sum_of(&other, |flow| flow.psn.out_of_order_packets),
        Resent => sum_of(&own, |flow| flow.psn.retransmitted_packets),
        SequenceNak => tallies().map(|tally| tally.sequence_naks).sum(),
        RnrNak => tallies().map(|tally| tally.rnr_naks).sum(),
        AccessNak => tallies().map(|tally| tally.access_naks).sum(),
        OtherNak => tallies().map(|tally| tally.other_naks).sum(),
        Ce => report.tallies().values().map(|tally| tally.ce).sum(),
        AfterNak => sum_of_own("nak"),
        AfterRnr => sum_of_own("rnr"),
        AfterSilence => sum_of_own("timeout"),
        AfterUnknown => sum_of_own("unknown"),
    }
}
