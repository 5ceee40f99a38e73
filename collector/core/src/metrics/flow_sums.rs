//! The sums of one flow at one tap from which metrics are made.

use std::collections::BTreeMap;

use super::growth::Sums;
use crate::flow::episode::Trigger;
use crate::flow::state::Flow;
use crate::model::ecn::Ecn;
use crate::model::time::Span;

/// Number of sums of a flow's traffic: see [`traffic`].
pub(super) const TRAFFIC: usize = 10;

/// ECN codepoints with their places in a flow's traffic.
pub(super) const ECN: [(&str, usize); 4] = [("not_ect", 2), ("ect0", 3), ("ect1", 4), ("ce", 5)];

/// NAK codes in the order of [`naks`].
pub(super) const NAKS: [&str; 7] = [
    "psn_sequence_error",
    "invalid_request",
    "remote_access_error",
    "remote_operational_error",
    "invalid_rd_request",
    "reserved",
    "rnr",
];

/// Frames, wire bytes, packets by ECN codepoint, retransmitted, missing and out-of-order packets,
/// CNPs. Frames come first: they show whether a flow began anew. Of missing packets only those that
/// are certain count: the others may turn out to be the capture's loss, and a counter never falls.
/// Next to the sender
/// (`is_next_to_sender`) CE marks may not be visible; the other codepoints are then left out as well,
/// so that shares of CE stay right.
pub(super) fn traffic(flow: &Flow, is_next_to_sender: bool) -> [Option<u64>; TRAFFIC] {
    let marks = flow.marks();
    let ce = marks.visible_ce(is_next_to_sender);
    let ecn = |codepoint| ce.map(|_| marks.count(codepoint));
    let counts = flow.sequence_counts();
    let missing = flow.missing_requests().zip(flow.missing_responses());
    [
        Some(flow.frames),
        Some(flow.wire_bytes),
        ecn(Ecn::NotEct),
        ecn(Ecn::Ect0),
        ecn(Ecn::Ect1),
        ce,
        counts.map(|counts| counts.retransmitted_packets),
        missing.map(|(requests, responses)| requests.settled + responses.settled),
        counts.map(|counts| counts.out_of_order_packets),
        Some(flow.cnps),
    ]
}

/// Frames, then NAKs by code.
pub(super) fn naks(flow: &Flow) -> [Option<u64>; 1 + NAKS.len()] {
    let naks = flow.responses.counts();
    [
        flow.frames,
        naks.psn_sequence_error,
        naks.invalid_request,
        naks.remote_access_error,
        naks.remote_operational_error,
        naks.invalid_rd_request,
        naks.reserved,
        naks.rnr_naks,
    ]
    .map(Some)
}

/// Frames, recovery episodes and their time, by trigger; only triggers that occurred.
pub(super) fn recoveries(
    flow: &Flow,
) -> impl Iterator<Item = (&'static str, [Option<u64>; 3])> + '_ {
    let episodes = flow.episodes.as_ref();
    Trigger::ALL.into_iter().filter_map(move |trigger| {
        let totals = episodes?.totals(trigger);
        let sums = [flow.frames, totals.count, totals.recovery_ns].map(Some);
        (totals.count > 0).then_some((trigger.name(), sums))
    })
}

/// Adds the sums of `key` at one more tap.
pub(super) fn join<K: Ord, const N: usize>(
    all: &mut BTreeMap<K, Sums<N>>,
    key: K,
    span: Span,
    sums: [Option<u64>; N],
) {
    let sums = Sums { span: (span.first.as_nanos(), span.last.as_nanos()), sums };
    all.entry(key).and_modify(|known| known.join(sums)).or_insert(sums);
}
