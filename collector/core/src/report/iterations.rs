//! Training steps: what each took, moved and suffered.

use schemars::JsonSchema;
use serde::Serialize;

use super::Sources;
use super::stragglers::StragglerReport;
use crate::analysis::judged::JudgedIteration;

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
    /// First data packet of the next one; of the last, its last packet, sent again or not.
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
    /// The rank that the others waited for longest within it; `null` where nobody stands out.
    pub straggler: Option<StragglerReport>,
    /// The collective of the straggler, by `id`.
    pub straggler_collective: Option<u32>,
    /// NCCL connects its channels in it, which makes the first training step of a job long.
    pub sets_up: bool,
    /// Median length of the whole training steps of its job; `null` where there are fewer than
    /// three.
    pub median_ns: Option<u64>,
    /// How much longer than the median it took, where that is more than 5 % and more than five
    /// median absolute deviations; `null` otherwise.
    pub excess_ns: Option<u64>,
    /// It has an excess or a straggler, and is not the one in which channels are connected.
    pub stands_out: bool,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
}

impl IterationReport {
    /// Nanoseconds from its first data packet to the first of the next one.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        u64::try_from(self.end_ns.saturating_sub(self.start_ns)).unwrap_or(0)
    }

    /// What it cost by which it stands out: the longer one of its excess and its straggler's lag.
    #[must_use]
    pub fn cost_ns(&self) -> Option<u64> {
        let lag_ns = self.straggler.as_ref().map(|straggler| straggler.lag_ns);
        self.excess_ns.max(lag_ns).filter(|_| self.stands_out)
    }
}

/// The training steps in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<IterationReport> {
    sources.understanding.iterations.iter().map(|judged| report(sources, judged)).collect()
}

fn report(sources: &Sources<'_>, judged: &JudgedIteration) -> IterationReport {
    let JudgedIteration { iteration, figures, pace, straggler } = judged;
    let straggler = straggler.as_ref();
    let job = sources.state.job.as_ref();
    IterationReport {
        iteration: iteration.number,
        label: iteration.label.clone(),
        communicator: job.and_then(|job| job.name_of(iteration.communicator)),
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
        ce_share: figures.ce_share(),
        cnps: figures.cnps,
        paused_ns: figures.paused_ns,
        retransmitted_packets: figures.retransmitted_packets,
        straggler: straggler.map(|(straggler, _)| StragglerReport::new(sources, straggler)),
        straggler_collective: straggler.map(|(_, at)| *at as u32),
        sets_up: pace.sets_up,
        median_ns: pace.median_ns,
        excess_ns: pace.excess_ns,
        stands_out: pace.stands_out,
        grade: iteration.grade.name(),
    }
}
