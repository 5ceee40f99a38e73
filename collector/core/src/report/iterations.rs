//! Training steps: duration, traffic and trouble.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use super::stragglers::{Cause, StragglerReport, by_name};
use crate::analysis::iteration::cost::Cost;
use crate::analysis::judged::JudgedIteration;
use crate::analysis::straggler::contribution::Contribution;
use crate::model::grade::Grade;

/// A training step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IterationReport {
    /// Number from 0, in order of time.
    pub iteration: u32,
    /// The training job's own step number, from an anchor or a training log: `4812`.
    pub label: Option<String>,
    /// `id` of the communicator whose collectives repeat with it.
    pub communicator: Option<String>,
    /// All its calls were seen: it is neither cut off by the capture nor damaged.
    pub complete: bool,
    /// First data packet.
    pub start_ns: i64,
    /// First data packet of the next one; for the last one, its last packet, retransmitted or not.
    pub end_ns: i64,
    /// Time with a collective in flight.
    pub communication_ns: u64,
    /// Time without a collective in flight.
    pub idle_ns: u64,
    /// Number of collectives.
    pub collectives: u64,
    /// `id` of each, ascending, including those of other communicators of the job.
    pub collective_ids: Vec<u32>,
    /// Bytes of its messages on the wire; `null` if messages are missing.
    pub bytes: Option<u64>,
    /// Highest rate of payload at one port and direction over a millisecond, in bits per second; a
    /// message's bytes are spread evenly from its first packet to its last.
    pub peak_bps: Option<u64>,
    /// CE-marked data packets; `null` if no tap could see marks.
    pub ce_packets: Option<u64>,
    /// Their share of its data packets, 0 to 1.
    pub ce_share: Option<f64>,
    /// CNPs during it, as seen by taps; if taps saw none or not all were kept, as counted by NICs.
    /// `null` if NICs do not count them and taps do not see the return path to all senders.
    pub cnps: Option<u64>,
    /// Time in which some port was paused: by pause frames, or by the counters of the NIC paused
    /// longest, whichever is longer. `null` if there are neither.
    pub paused_ns: Option<u64>,
    /// Packets retransmitted during it; `null` if there were too many to keep.
    pub retransmitted_packets: Option<u64>,
    /// The rank that the others waited for longest; `null` if none stands out.
    pub straggler: Option<StragglerReport>,
    /// `id` of the straggler's collective.
    pub straggler_collective: Option<u32>,
    /// NCCL connects its channels during this step, which makes a job's first training step long.
    pub sets_up: bool,
    /// Median duration of the job's complete training steps, without the one in which NCCL connects
    /// its channels; `null` if there are fewer than three.
    pub median_ns: Option<u64>,
    /// Time beyond the median; `null` unless it exceeds 5 % of it and five median absolute
    /// deviations.
    pub excess_ns: Option<u64>,
    /// What the excess is made of, the greatest first; with `remainder_ns` it sums to `excess_ns`.
    pub contributions: Vec<ContributionReport>,
    /// The part of the excess that nothing explains; `null` without an excess.
    pub remainder_ns: Option<u64>,
    /// What each cause cost its collectives, the greatest first, also where most training steps pay as
    /// much. Without the cause, the training step would have taken at most so much less: what hides
    /// behind computing is not subtracted. Causes that act at the same time overlap; less than 1 % of
    /// the training step is left out.
    pub costs: Vec<CostReport>,
    /// It has an excess or a straggler, and is not a step in which NCCL connects channels.
    pub stands_out: bool,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
}

/// What one rank, or one path, added to a training step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContributionReport {
    /// The rank, in the communicator of the collectives.
    pub rank: u32,
    /// `enqueue`, `compute`, `sender`, `receiver`, `congestion`, `loss`, `pause` or `socket`.
    pub cause: &'static str,
    /// Address of its port; `null` if it has several.
    pub port: Option<String>,
    /// Nanoseconds.
    pub ns: u64,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
}

/// What one cause at one rank cost a training step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CostReport {
    /// `id` of the communicator of the collectives that took longer.
    pub communicator: Option<String>,
    /// The rank in it: of loss and congestion, the one that sends; of pause, the one whose port pauses
    /// its switch, or else the one that is paused.
    pub rank: u32,
    /// As in `contributions`.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub cause: Cause,
    /// Address of its port; `null` if it has several.
    pub port: Option<String>,
    /// Nanoseconds.
    pub ns: u64,
}

impl IterationReport {
    /// Nanoseconds from its first data packet to the first of the next one.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        u64::try_from(self.end_ns.saturating_sub(self.start_ns)).unwrap_or(0)
    }
}

/// The training steps in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<IterationReport> {
    sources.understanding.iterations.iter().map(|judged| report(sources, judged)).collect()
}

fn report(sources: &Sources<'_>, judged: &JudgedIteration) -> IterationReport {
    let JudgedIteration { iteration, figures, pace, straggler, contributions, costs } = judged;
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
        contributions: contributions.iter().map(|one| contribution(sources, judged, one)).collect(),
        remainder_ns: judged.remainder_ns(),
        costs: costs.iter().map(|one| cost(sources, one)).collect(),
        stands_out: pace.stands_out,
        grade: iteration.grade.name(),
    }
}

fn contribution(
    sources: &Sources<'_>,
    judged: &JudgedIteration,
    one: &Contribution,
) -> ContributionReport {
    let proven = judged
        .straggler
        .as_ref()
        .filter(|(straggler, _)| (straggler.rank, straggler.cause) == (one.rank, one.cause));
    let grade = proven.map_or(Grade::Inferred, |(straggler, _)| straggler.grade);
    let port = sources.rank_ports.port_of(judged.iteration.communicator, one.rank);
    ContributionReport {
        rank: one.rank,
        cause: one.cause.name(),
        port: port.map(|port| port.to_string()),
        ns: one.ns,
        grade: grade.name(),
    }
}

fn cost(sources: &Sources<'_>, one: &Cost) -> CostReport {
    let job = sources.state.job.as_ref();
    let port = sources.rank_ports.port_of(one.communicator, one.rank);
    CostReport {
        communicator: job.and_then(|job| job.name_of(one.communicator)),
        rank: one.rank,
        cause: one.cause,
        port: port.map(|port| port.to_string()),
        ns: one.ns,
    }
}
