//! What one switch sampled.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use super::estimate::{Estimate, Share, Weighted};
use super::rhythm::{self, NoRhythm, Rhythm};
use crate::decode::sflow::Source;
use crate::flow::sampled::AgentKey;
use crate::flow::sampled::agent::Agent;
use crate::flow::sampled::interface::InterfaceState;
use crate::flow::sampled::queue::{QueueKey, QueueState};
use crate::flow::sampled::source::{Drawn, FlowDrawn, Side, SourceKey, SourceState, Sums};
use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;
use crate::model::time::Span;

/// Samples from which the growth of the pool shows a wrong rate.
const JUDGED_SAMPLES: u64 = 30;

/// What a switch sampled, and what that says of what passed it.
#[derive(Clone, Debug)]
pub struct SampledSwitch {
    /// The agent, and which part of it.
    pub key: AgentKey,
    /// The tap that captured its datagrams.
    pub tap: TapId,
    /// First and last datagram.
    pub span: Span,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Datagrams that did not.
    pub lost_datagrams: u64,
    /// How often it began to count anew.
    pub restarts: u64,
    /// On which side the packets were drawn that everything here is made from. A packet that is drawn on
    /// both sides would count twice.
    pub side: Side,
    /// Samples of that side.
    pub samples: u64,
    /// Those of them whose header could not be read.
    pub unread: u64,
    /// Its sources.
    pub sources: Vec<JudgedSource>,
    /// All packets.
    pub frames: Estimate,
    /// RoCE packets.
    pub roce_frames: Estimate,
    /// Their bytes.
    pub roce_bytes: Estimate,
    /// Share of RoCE packets with a CE mark; `None` without any.
    pub ce: Option<Share>,
    /// CNPs.
    pub cnps: Estimate,
    /// Pause frames that were drawn.
    pub sampled_pauses: u64,
    /// Pairs of hosts, that with most bytes first.
    pub pairs: Vec<Talker>,
    /// Queue pairs that received, that with most bytes first.
    pub queue_pairs: Vec<Talker>,
    /// How the RoCE traffic repeats.
    pub rhythm: Result<Rhythm, NoRhythm>,
    /// Counters of its interfaces, by ifIndex.
    pub interfaces: Vec<(u32, InterfaceState)>,
    /// Egress queues that drawn packets went through, the fullest first.
    pub queues: Vec<(QueueKey, QueueState)>,
    /// Counter samples.
    pub counter_samples: u64,
}

/// A source.
#[derive(Clone, Debug)]
pub struct JudgedSource {
    /// Where it draws.
    pub source: Source,
    /// The rate that it says it has.
    pub rate: u32,
    /// Packets that a sample stands for, with what was lost.
    pub weight: f64,
    /// The rate as the growth of the pool has it, if it differs from what the source says.
    pub measured_rate: Option<f64>,
    /// Samples that came.
    pub samples: u64,
    /// Samples that did not.
    pub lost: u64,
    /// Samples that the switch dropped.
    pub drops: u64,
}

/// Packets from one host to another, or to one of its queue pairs.
#[derive(Clone, Debug)]
pub struct Talker {
    /// Sender.
    pub from: HostAddress,
    /// Receiver.
    pub to: HostAddress,
    /// Queue pairs of the receiver that were seen.
    pub dest_qpns: BTreeSet<Qpn>,
    /// Packets.
    pub frames: Estimate,
    /// Their bytes.
    pub bytes: Estimate,
    /// Share with a CE mark.
    pub ce: Option<Share>,
    /// CNPs that were drawn.
    pub sampled_cnps: u64,
}

impl SampledSwitch {
    pub(super) fn new(key: AgentKey, agent: &Agent) -> Self {
        let sources: Vec<JudgedSource> =
            agent.sources.iter().map(|(key, state)| judge_source(agent, key, state)).collect();
        let weights: BTreeMap<SourceKey, f64> =
            agent.sources.keys().copied().zip(sources.iter().map(|one| one.weight)).collect();
        let side = side(agent);
        let total = |add: &dyn Fn(&mut Weighted, f64, &Drawn)| {
            let mut sum = Weighted::default();
            for (key, source) in &agent.sources {
                add(&mut sum, weights.get(key).copied().unwrap_or(1.0), source.side(side));
            }
            sum
        };
        let roce = total(&|sum, weight, drawn| sum.add_frames(weight, drawn.roce.frames));
        let ce = total(&|sum, weight, drawn| sum.add_frames(weight, drawn.ce));
        let count =
            |of: fn(&Drawn) -> u64| agent.sources.values().map(|one| of(one.side(side))).sum();
        Self {
            key,
            tap: agent.tap,
            span: agent.span,
            datagrams: agent.numbers.received(),
            lost_datagrams: agent.numbers.lost(),
            restarts: agent.numbers.restarts(),
            side,
            samples: count(|drawn| drawn.all.frames),
            unread: count(|drawn| drawn.unread),
            frames: total(&|sum, weight, drawn| sum.add_frames(weight, drawn.all.frames)).total(),
            roce_frames: roce.total(),
            roce_bytes: total(&|sum, weight, drawn| sum.add_bytes(weight, &drawn.roce)).total(),
            ce: roce.share(&ce),
            cnps: total(&|sum, weight, drawn| sum.add_frames(weight, drawn.cnps)).total(),
            sampled_pauses: count(|drawn| drawn.pauses),
            pairs: talkers(agent, &weights, side, false),
            queue_pairs: talkers(agent, &weights, side, true),
            rhythm: rhythm::find(agent.arrivals.iter().copied()),
            interfaces: agent.interfaces.iter().map(|(at, state)| (*at, *state)).collect(),
            queues: queues(agent),
            counter_samples: agent.counter_samples,
            sources,
        }
    }
}

/// The egress queues, those first whose packets found most before them.
fn queues(agent: &Agent) -> Vec<(QueueKey, QueueState)> {
    let mut queues: Vec<_> = agent.queues.iter().map(|(key, state)| (*key, *state)).collect();
    let found = |state: &QueueState| (state.depth_bytes.max, state.delay_ns.max);
    queues.sort_by_key(|(_, state)| Reverse(found(state)));
    queues
}

/// Egress where it sees about as much: there, the marks of this switch show.
fn side(agent: &Agent) -> Side {
    let drawn = |side| -> u64 {
        agent.sources.values().map(|source: &SourceState| source.side(side).all.frames).sum()
    };
    let (ingress, egress) = (drawn(Side::Ingress), drawn(Side::Egress));
    if egress > 0 && egress.saturating_mul(2) >= ingress {
        Side::Egress
    } else if ingress > 0 {
        Side::Ingress
    } else {
        Side::Unknown
    }
}

fn judge_source(agent: &Agent, key: &SourceKey, state: &SourceState) -> JudgedSource {
    // A source numbers the samples of all its rates together: of one of several, gaps and pool show nothing.
    let rates = agent.sources.keys().filter(|other| other.source == key.source);
    let is_only = rates.count() == 1;
    let received = state.numbers.received();
    let lost = if is_only { state.numbers.lost() } else { 0 };
    let drawn = received.saturating_add(lost).saturating_add(state.drops);
    let measured = state.pool as f64 / state.drawn_from_pool.max(1) as f64;
    let rate = f64::from(key.rate);
    // A pool that is counted scatters: by no more than this in all but a few cases of a million.
    let scatter = 0.01 + 5.0 / (state.drawn_from_pool.max(1) as f64).sqrt();
    let is_judged = is_only && state.drawn_from_pool >= JUDGED_SAMPLES && state.pool > 0;
    let measured_rate = (is_judged && (measured / rate - 1.0).abs() > scatter).then_some(measured);
    let per_drawn = measured_rate.unwrap_or(rate);
    JudgedSource {
        source: key.source,
        rate: key.rate,
        weight: per_drawn * drawn as f64 / received.max(1) as f64,
        measured_rate,
        samples: received,
        lost,
        drops: state.drops,
    }
}

/// Sums of a talker.
#[derive(Default)]
struct Gathered {
    dest_qpns: BTreeSet<Qpn>,
    frames: Weighted,
    bytes: Weighted,
    ce: Weighted,
    cnps: u64,
}

fn talkers(
    agent: &Agent,
    weights: &BTreeMap<SourceKey, f64>,
    side: Side,
    by_queue_pair: bool,
) -> Vec<Talker> {
    let mut gathered: BTreeMap<(HostAddress, HostAddress, Option<Qpn>), Gathered> = BTreeMap::new();
    for (key, drawn) in agent.flows().filter(|(key, _)| key.side == side) {
        let FlowDrawn { sums, ce, cnps } = *drawn;
        let weight = weights.get(&key.source).copied().unwrap_or(1.0);
        let queue_pair = by_queue_pair.then_some(key.dest_qpn);
        let sum = gathered.entry((key.from, key.to, queue_pair)).or_default();
        sum.dest_qpns.insert(key.dest_qpn);
        sum.frames.add_frames(weight, sums.frames);
        sum.bytes.add_bytes(weight, &Sums { ..sums });
        sum.ce.add_frames(weight, ce);
        sum.cnps += cnps;
    }
    let mut talkers: Vec<Talker> = gathered
        .into_iter()
        .map(|((from, to, _), sum)| Talker {
            from,
            to,
            dest_qpns: sum.dest_qpns,
            frames: sum.frames.total(),
            bytes: sum.bytes.total(),
            ce: sum.frames.share(&sum.ce),
            sampled_cnps: sum.cnps,
        })
        .collect();
    let by_bytes = |one: &Talker, other: &Talker| {
        other.bytes.value.partial_cmp(&one.bytes.value).unwrap_or(Ordering::Equal)
    };
    talkers.sort_by(by_bytes);
    talkers
}
