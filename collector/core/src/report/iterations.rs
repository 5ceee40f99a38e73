//! Training steps: what each took, moved and suffered.

use schemars::JsonSchema;
use serde::Serialize;

use super::stragglers::StragglerReport;
use super::{Sources, communicators};
use crate::analysis::iteration::Iteration;
use crate::analysis::iteration::figures::{self, Figures, Observed};

/// A training step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IterationReport {
    /// Number from 0, in order of time.
    pub iteration: u32,
    /// What the training calls it, where an anchor or a log tells: `4812`.
    pub label: Option<String>,
    /// `id` of the communicator whose collectives repeat with it.
    pub communicator: Option<String>,
    /// All calls of a training step were seen: it is not cut by the capture, nor damaged.
    pub complete: bool,
    /// First data packet.
    pub start_ns: i64,
    /// First data packet of the next one; of the last, its last packet.
    pub end_ns: i64,
    /// Time with a collective in flight.
    pub communication_ns: u64,
    /// Time without.
    pub idle_ns: u64,
    /// Collectives.
    pub collectives: u64,
    /// `id` of each, ascending; those of other communicators of the job as well.
    pub collective_ids: Vec<u32>,
    /// Bytes of its messages on the wire; `null` where messages are missing.
    pub bytes: Option<u64>,
    /// The most payload that a port sent or received in a millisecond, as a rate; a message's bytes
    /// are spread evenly from its first packet to its last.
    pub peak_bps: Option<u64>,
    /// Data packets with a CE mark; `null` where no tap could see any.
    pub ce_packets: Option<u64>,
    /// Their share of its data packets, 0 to 1.
    pub ce_share: Option<f64>,
    /// CNPs in its span; where taps saw none or not all were kept, those that NICs counted; `null`
    /// where those tell nothing and taps do not see what comes back to all senders.
    pub cnps: Option<u64>,
    /// Time in which some port was told to pause: by pause frames, or by the counters of the NIC that
    /// waited longest, whichever is longer; `null` where neither frames nor counters tell.
    pub paused_ns: Option<u64>,
    /// Packets sent again in its span; `null` where there were too many to keep.
    pub retransmitted_packets: Option<u64>,
    /// The rank that the others waited for longest; `null` where nobody stands out.
    pub straggler: Option<StragglerReport>,
    /// The collective of the straggler, by `id`.
    pub straggler_collective: Option<u32>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
}

/// The training steps in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<IterationReport> {
    let Some(linked) = sources.linked else { return Vec::new() };
    let observed = Observed {
        job: &linked.job,
        collectives: &linked.collectives,
        signals: &linked.signals,
        signals_end: linked.signals_end,
        resends: linked.resends.as_deref(),
        tracker: sources.tracker,
        positions: sources.positions,
        clocks: &linked.clocks,
        counters: sources.counters,
    };
    let figures = figures::measure(&linked.iterations, &observed);
    let both = linked.iterations.iter().zip(&figures);
    both.map(|(iteration, figures)| report(sources, iteration, figures)).collect()
}

fn report(sources: &Sources<'_>, iteration: &Iteration, figures: &Figures) -> IterationReport {
    let linked = sources.linked;
    let worst = iteration.collectives.iter().filter_map(|at| {
        let straggler = linked?.stragglers.get(*at)?.as_ref()?;
        Some((straggler, *at as u32))
    });
    let worst = worst.max_by_key(|(straggler, at)| (straggler.lag_ns, std::cmp::Reverse(*at)));
    IterationReport {
        iteration: iteration.number,
        label: iteration.label.clone(),
        communicator: linked
            .and_then(|linked| communicators::name_of(&linked.job, iteration.communicator)),
        complete: iteration.is_whole,
        start_ns: sources.relative_ns(iteration.span.first),
        end_ns: sources.relative_ns(iteration.span.last),
        communication_ns: iteration.communication_ns,
        idle_ns: iteration.idle_ns(),
        collectives: iteration.collectives.len() as u64,
        collective_ids: iteration.collectives.iter().map(|at| *at as u32).collect(),
        bytes: figures.bytes,
        peak_bps: figures.peak_bps,
        ce_packets: figures.ce_packets,
        ce_share: figures
            .ce_packets
            .filter(|_| figures.packets > 0)
            .map(|marked| marked as f64 / figures.packets as f64),
        cnps: figures.cnps,
        paused_ns: figures.paused_ns,
        retransmitted_packets: figures.retransmitted_packets,
        straggler: worst.map(|(straggler, _)| StragglerReport::new(sources, straggler)),
        straggler_collective: worst.map(|(_, at)| at),
        grade: iteration.grade.name(),
    }
}
