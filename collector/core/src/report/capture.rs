//! The input as a whole.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::sources::Sources;
use crate::flow::state::Flow;
use crate::flow::tap::TapState;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Totals over all taps.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Capture {
    /// Time of the input's first frame in nanoseconds since the Unix epoch, as a decimal string.
    /// All other times are relative to it. Without frames, it is the time of the first sample of NIC counters.
    /// If the clocks of taps differ, it is on the reference's
    /// clock (`clock_reference`), and the first frame's own time need not be 0.
    #[serde(serialize_with = "as_decimal_string")]
    #[schemars(with = "String")]
    pub origin_ns: Timestamp,
    /// From the first processed frame to the last, on aligned clocks.
    pub duration_ns: u64,
    /// Frames in the input.
    pub frames: u64,
    /// Bytes of all frames on the wire, without FCS.
    pub wire_bytes: u64,
    /// Captured bytes of all frames.
    pub captured_bytes: u64,
    /// RoCEv2 frames with at least a complete BTH.
    pub roce_frames: u64,
    /// Frames with a TCP header.
    pub tcp_frames: u64,
    /// PFC and 802.3x pause frames.
    pub pfc_frames: u64,
    /// All other frames.
    pub other_frames: u64,
    /// Frames captured only in part.
    pub truncated_frames: u64,
    /// Packets of all flows that were acknowledged without a retransmission, and not captured: the capture
    /// lost them.
    pub uncaptured_packets: u64,
    /// Packets of all flows that were not captured, fate unknown.
    pub unresolved_packets: u64,
    /// Layers that could not be decoded, by `<layer>.<reason>`.
    pub refused: BTreeMap<String, u64>,
}

impl Capture {
    /// A time of the report as a date: `relative_ns` after the origin.
    #[must_use]
    pub fn time(&self, relative_ns: i64) -> Timestamp {
        self.origin_ns.plus(relative_ns)
    }

    /// From the origin to the last frame.
    #[must_use]
    pub fn span(&self) -> Span {
        Span { first: self.origin_ns, last: self.origin_ns.plus_nanos(self.duration_ns) }
    }
}

/// Numbers over 2^53 lose digits in many readers of JSON.
fn as_decimal_string<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&time.as_nanos())
}

pub(super) fn section(sources: &Sources<'_>) -> Capture {
    let taps = sources.state.tracker.taps();
    let sum = |of: fn(&TapState) -> u64| taps.iter().map(of).sum::<u64>();
    let tap_spans = (0..).map(TapId).zip(taps).filter_map(|(id, tap)| Some((id, tap.span?)));
    let aligned = |(id, Span { first, last })| Span {
        first: sources.aligned(id, first),
        last: sources.aligned(id, last),
    };
    let spans = || tap_spans.clone().map(aligned);
    let first = spans().map(|span| span.first).min();
    let last = spans().map(|span| span.last).max();
    let mut refused = BTreeMap::new();
    for tap in taps {
        for (layer, limit, count) in tap.refused() {
            *refused.entry(format!("{}.{}", layer.name(), limit.name())).or_insert(0) += count;
        }
    }
    let flows = sources.state.tracker.flows().flows().iter();
    let [uncaptured_packets, unresolved_packets] = flows
        .filter_map(Flow::unseen_requests)
        .fold([0, 0], |[one, other], [more, others]| [one + more, other + others]);
    let frames = sum(|tap| tap.frames);
    let known =
        [sum(|tap| tap.roce_frames), sum(|tap| tap.tcp_frames), sum(|tap| tap.pause_frames)];
    let [roce_frames, tcp_frames, pfc_frames] = known;
    Capture {
        origin_ns: sources.origin,
        duration_ns: first.zip(last).map_or(0, |(first, last)| last.nanos_since(first)),
        frames,
        wire_bytes: sum(|tap| tap.wire_bytes),
        captured_bytes: sum(|tap| tap.captured_bytes),
        roce_frames,
        tcp_frames,
        pfc_frames,
        other_frames: frames - known.iter().sum::<u64>(),
        truncated_frames: sum(|tap| tap.truncated_frames),
        uncaptured_packets,
        unresolved_packets,
        refused,
    }
}
