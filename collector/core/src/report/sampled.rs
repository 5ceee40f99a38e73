//! What switches sampled (sFlow): estimates with their intervals.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::sampling::estimate::{Estimate, Mean, Share};
use crate::analysis::sampling::rhythm::{NoRhythm, Rhythm};
use crate::analysis::sampling::switch::{JudgedSource, SampledSwitch, Talker};
use crate::flow::sampled::interface::InterfaceState;
use crate::flow::sampled::queue::{Moments, QueueKey, QueueState};
use crate::flow::sampled::source::Side;

/// Most pairs, queue pairs and egress queues that are listed.
const LISTED: usize = 64;

/// What a switch sampled.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SampledReport {
    /// The switch: the address of its sFlow agent.
    pub agent: String,
    /// Number of the part of the agent that counts by itself.
    pub sub_agent: u32,
    /// The tap that captured its datagrams.
    pub tap: u32,
    /// When the first datagram came.
    pub first_ns: i64,
    /// When the last one came.
    pub last_ns: i64,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Datagrams missing from its sequence numbers.
    pub lost_datagrams: u64,
    /// How often it began to count anew.
    pub restarts: u64,
    /// Where the packets were drawn that the estimates are made from: `ingress`, where they came in, before
    /// this switch could mark or drop them; `egress`; or `unknown`.
    pub side: &'static str,
    /// Packets drawn there.
    pub samples: u64,
    /// Samples among them whose header could not be read.
    pub unread_samples: u64,
    /// Where it draws, and one packet in how many.
    pub sources: Vec<SampledSourceReport>,
    /// Packets that passed; `null`, as what follows, if it sent no samples of packets.
    pub frames: Option<EstimateReport>,
    /// RoCE packets among them.
    pub roce_frames: Option<EstimateReport>,
    /// Bytes of the RoCE packets on the wire.
    pub roce_bytes: Option<EstimateReport>,
    /// Share of RoCE packets with a CE mark; `null` if no RoCE packet was drawn.
    pub ce_share: Option<ShareReport>,
    /// CNPs that passed.
    pub cnps: Option<EstimateReport>,
    /// How the RoCE traffic repeats: training steps, or a part or a multiple of them; `null` if that cannot be
    /// said.
    pub rhythm: Option<RhythmReport>,
    /// Why there is no rhythm: `too_few_samples`, `nothing_repeats`.
    pub why_no_rhythm: Option<&'static str>,
    /// Pairs of hosts, that with most bytes first; at most 64.
    pub pairs: Vec<TalkerReport>,
    /// Pairs that were seen.
    pub pairs_seen: u64,
    /// Queue pairs that received, that with most bytes first; at most 64.
    pub queue_pairs: Vec<TalkerReport>,
    /// Queue pairs that were seen.
    pub queue_pairs_seen: u64,
    /// Counters of its interfaces.
    pub interfaces: Vec<SampledInterfaceReport>,
    /// Counter samples that came.
    pub counter_samples: u64,
    /// Pause frames that were drawn. Most switches draw none, whether there are any or not.
    pub sampled_pause_frames: u64,
    /// Pause frames that its counters count. Always `null`: the counters of sFlow have none.
    pub pause_frames: Option<u64>,
    /// Why `pause_frames` is not known: `not_in_sflow`.
    pub why_no_pause_frames: Option<&'static str>,
    /// Egress queues that drawn packets went through, the fullest first; at most 64. Empty if the switch does
    /// not export them.
    pub queues: Vec<SampledQueueReport>,
    /// Egress queues that were seen.
    pub queues_seen: u64,
}

/// An egress queue, as the packets that were drawn found it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SampledQueueReport {
    /// ifIndex of its port; `null` if the samples do not name it.
    pub interface: Option<u32>,
    /// Its number.
    pub queue: u32,
    /// Packets drawn.
    pub samples: u64,
    /// Bytes that were in the queue before a packet; `null` if the switch does not export it.
    pub depth_bytes: Option<MeanReport>,
    /// Nanoseconds that a packet was in the switch; `null` if the switch does not export it.
    pub delay_ns: Option<MeanReport>,
}

/// A mean over packets, estimated from samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MeanReport {
    /// That of the samples.
    pub value: u64,
    /// Lower end of its interval (95 %); `null` of less than 100 samples.
    pub low: Option<u64>,
    /// Upper end.
    pub high: Option<u64>,
    /// The largest of the samples; 4294967295 is so much or more.
    pub max: u64,
    /// Samples that have it.
    pub samples: u64,
}

/// A source of samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SampledSourceReport {
    /// What draws: `interface`, `vlan`, `entity`, `other`.
    pub class: &'static str,
    /// Its number: ifIndex, VLAN.
    pub index: u32,
    /// One packet in so many is drawn, as the switch says.
    pub rate: u32,
    /// The same as the packets show that it could have drawn; `null` if it agrees with what the switch says.
    pub measured_rate: Option<f64>,
    /// Packets that a sample stands for, lost samples included.
    pub weight: f64,
    /// Samples that came.
    pub samples: u64,
    /// Samples missing from its sequence numbers.
    pub lost_samples: u64,
    /// Samples that the switch says it dropped.
    pub dropped_samples: u64,
}

/// A total that was estimated from samples.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EstimateReport {
    /// The best guess.
    pub value: u64,
    /// Lower end of its interval (95 %).
    pub low: u64,
    /// Upper end.
    pub high: u64,
    /// Samples that it is made from.
    pub samples: u64,
}

/// A share that was estimated from samples, 0 to 1.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShareReport {
    /// That of the samples.
    pub value: f64,
    /// Lower end of its interval (95 %).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Samples that have it.
    pub hits: u64,
    /// All samples.
    pub samples: u64,
}

/// How sampled traffic repeats.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RhythmReport {
    /// Length of a period.
    pub period_ns: u64,
    /// Lower end of its interval (95 %).
    pub low_ns: u64,
    /// Upper end.
    pub high_ns: u64,
    /// Periods that passed.
    pub cycles: u64,
    /// Samples that it is made from.
    pub samples: u64,
    /// The shortest period that could have been seen.
    pub shortest_ns: u64,
}

/// Packets between two hosts, or to a queue pair.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TalkerReport {
    /// Address of the sender.
    pub src: String,
    /// Address of the receiver.
    pub dst: String,
    /// Queue pair of the receiver; `null` where several were seen.
    pub dest_qpn: Option<u32>,
    /// Queue pairs of the receiver that were seen.
    pub queue_pairs: u64,
    /// Packets that passed.
    pub frames: EstimateReport,
    /// Their bytes on the wire.
    pub bytes: EstimateReport,
    /// Share of them with a CE mark.
    pub ce_share: Option<ShareReport>,
    /// CNPs among the samples.
    pub sampled_cnps: u64,
}

/// Counters of an interface of a switch. Rises are from its first reading to its last; `null` if it was read
/// once, or if the switch has no such counter.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SampledInterfaceReport {
    /// Its ifIndex.
    pub index: u32,
    /// Whether it is up, by setting and in fact.
    pub is_up: Option<bool>,
    /// Its speed, bits per second.
    pub speed_bps: Option<u64>,
    /// Time between its readings, without those between which the switch began anew.
    pub covered_ns: u64,
    /// Bits per second that came in, on average.
    pub in_bps: Option<u64>,
    /// Bits per second that went out, on average.
    pub out_bps: Option<u64>,
    /// The same between the two readings with most.
    pub peak_in_bps: Option<u64>,
    /// The same between the two readings with most.
    pub peak_out_bps: Option<u64>,
    /// Packets that came in and were discarded.
    pub in_discards: Option<u64>,
    /// Packets that were to go out and were discarded.
    pub out_discards: Option<u64>,
    /// Packets that came in with an error.
    pub in_errors: Option<u64>,
    /// Packets that could not go out because of an error.
    pub out_errors: Option<u64>,
    /// Frames with a wrong FCS.
    pub fcs_errors: Option<u64>,
    /// Symbol errors of the link.
    pub symbol_errors: Option<u64>,
}

/// The switches in the order of their addresses.
pub(super) fn section(sources: &Sources<'_>) -> Vec<SampledReport> {
    sources.understanding.sampled.iter().map(|switch| of_switch(sources, switch)).collect()
}

fn of_switch(sources: &Sources<'_>, switch: &SampledSwitch) -> SampledReport {
    let list = |talkers: &[Talker]| talkers.iter().take(LISTED).map(of_talker).collect::<Vec<_>>();
    // Counters alone say nothing of what passed.
    let drawn = |of: &Estimate| (!switch.sources.is_empty()).then(|| estimate(of));
    SampledReport {
        agent: switch.key.address.to_string(),
        sub_agent: switch.key.sub_agent,
        tap: switch.tap.0,
        first_ns: sources.aligned_ns(switch.tap, switch.span.first),
        last_ns: sources.aligned_ns(switch.tap, switch.span.last),
        datagrams: switch.datagrams,
        lost_datagrams: switch.lost_datagrams,
        restarts: switch.restarts,
        side: match switch.side {
            Side::Ingress => "ingress",
            Side::Egress => "egress",
            Side::Unknown => "unknown",
        },
        samples: switch.samples,
        unread_samples: switch.unread,
        sources: switch.sources.iter().map(of_source).collect(),
        frames: drawn(&switch.frames),
        roce_frames: drawn(&switch.roce_frames),
        roce_bytes: drawn(&switch.roce_bytes),
        ce_share: switch.ce.as_ref().map(share),
        cnps: drawn(&switch.cnps),
        rhythm: switch.rhythm.as_ref().ok().map(of_rhythm),
        why_no_rhythm: switch.rhythm.as_ref().err().map(|why| match why {
            NoRhythm::TooFewSamples => "too_few_samples",
            NoRhythm::NothingRepeats => "nothing_repeats",
        }),
        pairs: list(&switch.pairs),
        pairs_seen: switch.pairs.len() as u64,
        queue_pairs: list(&switch.queue_pairs),
        queue_pairs_seen: switch.queue_pairs.len() as u64,
        interfaces: switch.interfaces.iter().map(|(at, state)| of_interface(*at, state)).collect(),
        counter_samples: switch.counter_samples,
        sampled_pause_frames: switch.sampled_pauses,
        pause_frames: None,
        why_no_pause_frames: Some("not_in_sflow"),
        queues: switch
            .queues
            .iter()
            .take(LISTED)
            .map(|(key, queue)| of_queue(*key, queue))
            .collect(),
        queues_seen: switch.queues.len() as u64,
    }
}

fn of_source(source: &JudgedSource) -> SampledSourceReport {
    SampledSourceReport {
        class: match source.source.class {
            0 => "interface",
            1 => "vlan",
            2 => "entity",
            _ => "other",
        },
        index: source.source.index,
        rate: source.rate,
        measured_rate: source.measured_rate,
        weight: source.weight,
        samples: source.samples,
        lost_samples: source.lost,
        dropped_samples: source.drops,
    }
}

fn of_talker(talker: &Talker) -> TalkerReport {
    let only = talker.dest_qpns.iter().next().filter(|_| talker.dest_qpns.len() == 1);
    TalkerReport {
        src: talker.from.to_string(),
        dst: talker.to.to_string(),
        dest_qpn: only.map(|qpn| qpn.value()),
        queue_pairs: talker.dest_qpns.len() as u64,
        frames: estimate(&talker.frames),
        bytes: estimate(&talker.bytes),
        ce_share: talker.ce.as_ref().map(share),
        sampled_cnps: talker.sampled_cnps,
    }
}

fn of_rhythm(rhythm: &Rhythm) -> RhythmReport {
    RhythmReport {
        period_ns: rhythm.period_ns.round() as u64,
        low_ns: rhythm.low_ns.floor() as u64,
        high_ns: rhythm.high_ns.ceil() as u64,
        cycles: rhythm.cycles,
        samples: rhythm.samples,
        shortest_ns: rhythm.shortest_ns.ceil() as u64,
    }
}

fn of_interface(index: u32, state: &InterfaceState) -> SampledInterfaceReport {
    let rise = &state.rise;
    let rate = |octets: Option<u64>, counted_ns: u64| {
        let bits = u128::from(octets?).saturating_mul(8_000_000_000);
        u64::try_from(bits.checked_div(u128::from(counted_ns))?).ok()
    };
    let [in_ns, out_ns] = state.counted_ns;
    let [peak_in_bps, peak_out_bps] = state.peak_bps;
    SampledInterfaceReport {
        index,
        is_up: state.latest.map(|latest| latest.is_up),
        speed_bps: state.latest.and_then(|latest| latest.speed_bps),
        covered_ns: state.covered_ns,
        in_bps: rate(rise.in_octets, in_ns),
        out_bps: rate(rise.out_octets, out_ns),
        peak_in_bps,
        peak_out_bps,
        in_discards: rise.in_discards,
        out_discards: rise.out_discards,
        in_errors: rise.in_errors,
        out_errors: rise.out_errors,
        fcs_errors: rise.fcs_errors,
        symbol_errors: rise.symbol_errors,
    }
}

fn of_queue(key: QueueKey, queue: &QueueState) -> SampledQueueReport {
    SampledQueueReport {
        interface: key.interface,
        queue: key.queue,
        samples: queue.samples,
        depth_bytes: mean(&queue.depth_bytes),
        delay_ns: mean(&queue.delay_ns),
    }
}

fn mean(of: &Moments) -> Option<MeanReport> {
    let mean = Mean::new(of)?;
    Some(MeanReport {
        value: mean.value.round() as u64,
        low: mean.ends.map(|[low, _]| low.floor() as u64),
        high: mean.ends.map(|[_, high]| high.ceil() as u64),
        max: of.max.into(),
        samples: of.samples,
    })
}

fn estimate(of: &Estimate) -> EstimateReport {
    EstimateReport {
        value: of.value.round() as u64,
        low: of.low.floor() as u64,
        high: of.high.ceil() as u64,
        samples: of.samples,
    }
}

const fn share(of: &Share) -> ShareReport {
    ShareReport { value: of.value, low: of.low, high: of.high, hits: of.hits, samples: of.samples }
}
