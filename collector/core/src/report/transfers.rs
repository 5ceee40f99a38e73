//! Messages of collectives, one by one: what `--detail full` adds to the report.

use std::collections::BTreeMap;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Detail;
use super::sources::Sources;
use crate::analysis::judged::JudgedCollective;
use crate::decode::roce::aeth::Syndrome;
use crate::flow::observer::Signal;
use crate::link::job::Job;
use crate::model::time::Timestamp;

/// A message between two ranks, with the CTS that requested it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TransferReport {
    /// `id` of its connection.
    pub connection: u32,
    /// Number on the connection: NCCL's own if a CTS carried it, else counted from the first one
    /// seen.
    pub number: u64,
    /// `id` of its collective.
    pub collective: Option<u32>,
    /// Size of the message; `null` if its start was not captured.
    pub bytes: Option<u64>,
    /// When the receiver posted the CTS; `null` if it was not seen near the receiver.
    pub cts_posted_ns: Option<i64>,
    /// When the CTS arrived at the data's sender; `null` if it was not seen near the sender.
    pub cts_arrived_ns: Option<i64>,
    /// First data packet, at a tap next to the sender if there is one.
    pub first_ns: Option<i64>,
    /// Last data packet, at a tap next to the receiver if there is one.
    pub last_ns: Option<i64>,
    /// Its packets without retransmissions; 0 if unknown.
    pub packets: u32,
    /// CE-marked packets among them.
    pub ce_packets: u32,
}

/// A packet that asks a sender to slow down or to retransmit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SignalReport {
    /// `cnp`, `nak` or `rnr_nak`.
    pub signal: &'static str,
    /// When it passed.
    pub time_ns: i64,
    /// `id` of the flow that carried it.
    pub flow: u32,
    /// Number of the frame that carried it, in its file, from 1.
    pub frame: u64,
}

/// The messages of all connections, by connection and number.
pub(super) fn section(sources: &Sources<'_>) -> Option<Vec<TransferReport>> {
    let job = job(sources, Detail::Full)?;
    let collectives = collective_of(&sources.understanding.collectives);
    let mut reports = Vec::new();
    for (id, connection) in (0_u32..).zip(&job.connections) {
        for (place, transfer) in connection.transfers.iter().enumerate() {
            let time = |time: Timestamp| sources.relative_ns(time);
            reports.push(TransferReport {
                connection: id,
                number: transfer.number,
                collective: collectives.get(&id).and_then(|ranges| find(ranges, place)),
                bytes: transfer.bytes,
                cts_posted_ns: transfer.cts.and_then(|cts| cts.posted).map(time),
                cts_arrived_ns: transfer.cts.and_then(|cts| cts.arrived).map(time),
                first_ns: transfer.first_time().map(time),
                last_ns: transfer.last_time().map(time),
                packets: transfer.packets,
                ce_packets: transfer.ce_packets,
            });
        }
    }
    Some(reports)
}

/// CNPs and NAKs in order of time.
pub(super) fn signals(sources: &Sources<'_>) -> Option<Vec<SignalReport>> {
    job(sources, Detail::Events)?;
    let ids = sources.flow_ids.by_key(sources.state.tracker.flows());
    let signals = sources.state.signals.iter().filter_map(|signal| {
        Some(SignalReport {
            signal: match signal.signal {
                Signal::Cnp => "cnp",
                Signal::Nak(Syndrome::RnrNak { .. }) => "rnr_nak",
                Signal::Nak(_) => "nak",
            },
            time_ns: sources.relative_ns(signal.time),
            flow: *ids.get(&(signal.key, signal.epoch))?,
            frame: signal.number,
        })
    });
    Some(signals.collect())
}

/// By connection: the index range of each collective's messages, ascending.
type Ranges = BTreeMap<u32, Vec<(Range<usize>, u32)>>;

/// The job, if this much detail is wanted.
fn job<'a>(sources: &Sources<'a>, least: Detail) -> Option<&'a Job> {
    sources.state.job.as_ref().filter(|_| sources.context.detail >= least)
}

fn collective_of(collectives: &[JudgedCollective]) -> Ranges {
    let mut ranges = Ranges::new();
    for (id, judged) in (0..).zip(collectives) {
        for transfers in &judged.collective.transfers {
            ranges.entry(transfers.connection.0).or_default().push((transfers.places.clone(), id));
        }
    }
    for of_connection in ranges.values_mut() {
        of_connection.sort_by_key(|(range, _)| range.start);
    }
    ranges
}

fn find(ranges: &[(Range<usize>, u32)], place: usize) -> Option<u32> {
    let after = ranges.partition_point(|(range, _)| range.start <= place);
    let (range, id) = ranges.get(after.checked_sub(1)?)?;
    range.contains(&place).then_some(*id)
}
