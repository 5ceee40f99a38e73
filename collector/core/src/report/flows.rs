//! Flows: traffic and trouble of one direction towards one queue pair.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::context::Detail;
use super::counts::Counts;
use super::owner::{self, OwnerReport};
use super::sources::Sources;
use crate::flow::episode::{Episodes, Trigger};
use crate::flow::message::MessageKind;
use crate::flow::rate::{Reactions, WINDOW_NS};
use crate::flow::response::ResponseCounts;
use crate::flow::state::{EcnCounts, Flow, PairEvidence};
use crate::link::position::Position;
use crate::model::ecn::Ecn;
use crate::model::opcode::Opcode;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;

use super::taps::PositionReport;

/// One flow, at one tap and in one epoch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowReport {
    /// Number that other sections refer to.
    pub id: u32,
    /// The tap that saw it.
    pub tap: u32,
    /// 0 for the first use of the QPN seen, incremented with each reuse.
    pub epoch: u32,
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// Destination QPN.
    pub dest_qpn: u32,
    /// QPN that sends it; `null` if unknown.
    pub source_qpn: Option<u32>,
    /// `RC`, `UC`, `RD`, `UD`, `XRC`, `CNP` or `OTHER`.
    pub transport: &'static str,
    /// The other direction; `null` if it was not found.
    pub reverse: Option<ReverseReport>,
    /// Position of the tap relative to this flow.
    pub position: PositionReport,
    /// Packets by partition key (P_Key), in hexadecimal.
    pub partition_keys: Counts,
    /// Packets by UDP source port.
    pub udp_src_ports: Counts,
    /// Packets by differentiated services codepoint.
    pub dscp: Counts,
    /// Frames of this flow at this tap.
    pub frames: u64,
    /// Bytes on the wire, without FCS.
    pub wire_bytes: u64,
    /// Payload bytes, without headers, padding and ICRC.
    pub payload_bytes: u64,
    /// Time of the first frame.
    pub first_ns: i64,
    /// Time of the last frame.
    pub last_ns: i64,
    /// Packets by opcode, named as in Linux's `rdma/ib_pack.h`, without the transport.
    pub opcodes: Counts,
    /// Path MTU: payload bytes of a full packet; `null` until a message of several packets is seen.
    pub path_mtu_bytes: Option<u32>,
    /// Messages by kind.
    pub messages: MessagesReport,
    /// READ requests and atomics that were answered; `null` without a reverse flow.
    pub answered_requests: Option<u64>,
    /// Sequence numbers of requests; of responses if the flow carries nothing else.
    pub psn: PsnReport,
    /// Recovery episodes: one entry per trigger; with full detail one per episode (at most 1024).
    pub episodes: Vec<EpisodeReport>,
    /// Positive acknowledgements that it carries for the other direction: in ACKs, atomic ACKs and
    /// READ responses.
    pub acks: u64,
    /// NAKs that it carries for the other direction.
    pub naks: NaksReport,
    /// Receiver-not-ready NAKs that it carries for the other direction.
    pub rnr_naks: u64,
    /// CNPs that it carries: they ask the sender of the other direction to slow down.
    pub cnps: u64,
    /// How its sender reacted to CNPs; `null` if no CNP could be measured.
    pub cnp_reaction: Option<Box<CnpReaction>>,
    /// Packets by ECN codepoint of the innermost IP header.
    pub ecn: EcnReport,
    /// Packets by ECN codepoint of the outer IP header; `null` without a tunnel.
    pub outer_ecn: Option<Box<EcnReport>>,
    /// ICRCs compared; only those of complete frames.
    pub icrc: IcrcReport,
    /// From a packet that requests an ACK to the first ACK that covers it; `null` without any.
    pub ack_rtt_ns: Option<RoundTripReport>,
    /// The rank that it belongs to.
    pub owner: Option<OwnerReport>,
}

/// The other direction of a flow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReverseReport {
    /// Its `id`.
    pub flow: u32,
    /// The QPN that it goes to.
    pub dest_qpn: u32,
    /// `cm`, `psn_ack` or `udp_port`.
    pub evidence: &'static str,
}

/// Messages whose last packet was seen, by kind; for READs and atomics their request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "named after the operations")]
pub struct MessagesReport {
    pub send: u64,
    pub write: u64,
    pub write_with_immediate: u64,
    pub read: u64,
    pub atomic: u64,
}

/// Packet sequence numbers. All but `first` and `last` are `null` for datagram flows, whose PSNs
/// count packets to many receivers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PsnReport {
    /// `request` or `response`; `null` for flows of CNPs and unknown opcodes.
    pub space: Option<&'static str>,
    /// PSN of the first packet.
    pub first: Option<u32>,
    /// PSN of the last packet.
    pub last: Option<u32>,
    /// Packets missing when a later one was captured: lost or overtaken before the tap, or lost by
    /// the capture.
    pub gap_packets: Option<u64>,
    /// Out-of-order packets: sent before a packet that was seen earlier.
    pub out_of_order_packets: Option<u64>,
    /// Packets that were sent before.
    pub retransmitted_packets: Option<u64>,
    /// Packets below the highest PSN: retransmitted or out of order, unknown which.
    pub ambiguous_packets: Option<u64>,
    /// Packets not seen, but acknowledged without a retransmission: the capture lost them.
    pub uncaptured_packets: Option<u64>,
    /// Packets not seen, fate unknown; 0 on UC, where every missing packet was lost.
    pub unresolved_packets: Option<u64>,
    /// READ response packets missing when a later one was captured: lost or overtaken before the
    /// tap, or lost by the capture.
    pub response_gap_packets: Option<u64>,
}

/// Recovery episodes of one trigger, or a single one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EpisodeReport {
    /// `nak`, `rnr`, `timeout` or `unknown`.
    pub trigger: &'static str,
    /// Number of episodes in this entry.
    pub count: u64,
    /// Start of the (first) episode.
    pub start_ns: i64,
    /// Time in recovery; overlapping episodes count once.
    pub recovery_ns: u64,
    /// Retransmitted packets.
    pub resent_packets: u64,
}

/// NAKs by code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(missing_docs, reason = "the specification's own names")]
pub struct NaksReport {
    pub psn_sequence_error: u64,
    pub invalid_request: u64,
    pub remote_access_error: u64,
    pub remote_operational_error: u64,
    pub invalid_rd_request: u64,
    /// Syndromes that no specification defines.
    pub reserved: u64,
}

/// A sender's rate around the CNPs it received.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CnpReaction {
    /// CNPs measured; those closer together than the window count once.
    pub samples: u64,
    /// CNPs among them after which the rate was lower.
    pub slowed: u64,
    /// Width of the windows before and after.
    pub window_ns: u64,
    /// Mean rate in the window before.
    pub mean_before_bps: u64,
    /// Mean rate in the window after.
    pub mean_after_bps: u64,
}

/// Packets by ECN codepoint.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EcnReport {
    /// Not ECN-capable: a switch can only drop.
    pub not_ect: u64,
    /// ECN-capable transport (0).
    pub ect0: u64,
    /// ECN-capable transport (1).
    pub ect1: u64,
    /// Congestion experienced; `null` at a tap next to the sender, before any switch, if it saw
    /// none.
    pub ce: Option<u64>,
}

/// ICRCs compared.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IcrcReport {
    /// Number compared.
    pub checked: u64,
    /// Number of wrong ones.
    pub bad: u64,
}

/// ACK round trips: complete at a tap next to the sender, only the turnaround next to the receiver.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoundTripReport {
    /// Median, at most 1.6 % too large.
    pub p50: u64,
    /// 99th percentile, at most 1.6 % too large.
    pub p99: u64,
    /// Longest.
    pub max: u64,
    /// Round trips measured.
    pub samples: u64,
}

/// The flows, made one by one as they are written.
pub struct Rows<'a>(pub(super) &'a Sources<'a>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(rows(self.0))
    }
}

/// The flows by tap, source, destination, QPN and epoch.
pub(super) fn rows(sources: &Sources<'_>) -> impl Iterator<Item = FlowReport> {
    let flows = sources.state.tracker.flows();
    let report = |(id, at)| FlowReport {
        owner: owner::of_flow(sources, at),
        ..flow_report(sources, id, flows.at(at))
    };
    (0u32..).zip(flows.in_order()).map(report)
}

fn flow_report(sources: &Sources<'_>, id: u32, flow: &Flow) -> FlowReport {
    let position = sources.state.position(flow);
    let is_next_to_sender = position == Position::Sender;
    let answers = flow.responses.counts();
    FlowReport {
        id,
        tap: flow.key.tap.0,
        epoch: flow.epoch,
        src: flow.key.source.to_string(),
        dst: flow.key.destination.to_string(),
        dest_qpn: flow.key.dest_qpn.value(),
        source_qpn: flow.source_qpn().map(Qpn::value),
        transport: flow.transport.name(),
        reverse: flow.reverse.and_then(|reverse| {
            Some(ReverseReport {
                flow: sources.flow_ids.of(reverse.flow)?,
                dest_qpn: reverse.dest_qpn.value(),
                evidence: evidence_name(reverse.evidence),
            })
        }),
        position: position.into(),
        partition_keys: named(flow.headers.partition_keys().iter(), |key| format!("{key:#06x}")),
        udp_src_ports: named(flow.headers.udp_source_ports().iter(), |port| port.to_string()),
        dscp: named(flow.headers.dscp().iter(), |dscp| dscp.value().to_string()),
        frames: flow.frames,
        wire_bytes: flow.wire_bytes,
        payload_bytes: flow.payload_bytes,
        first_ns: sources.aligned_ns(flow.key.tap, flow.span.first),
        last_ns: sources.aligned_ns(flow.key.tap, flow.span.last),
        opcodes: opcodes(flow),
        path_mtu_bytes: flow.requester().messages.path_mtu(),
        messages: messages(flow),
        answered_requests: flow
            .reverse
            .map(|_| flow.requester().answers.as_ref().map_or(0, |answers| answers.count())),
        psn: PsnReport::new(flow),
        episodes: flow
            .episodes
            .as_ref()
            .map_or_else(Vec::new, |all| episodes(sources, flow.key.tap, all)),
        acks: answers.acks,
        naks: naks(&answers),
        rnr_naks: answers.rnr_naks,
        cnps: flow.cnps,
        cnp_reaction: cnp_reaction(&flow.requester().rate.reactions()).map(Box::new),
        ecn: EcnReport::new(flow.ecn, is_next_to_sender),
        outer_ecn: flow
            .outer_ecn()
            .map(|outer| Box::new(EcnReport::new(outer.counts, is_next_to_sender))),
        icrc: IcrcReport { checked: flow.icrc.checked, bad: flow.icrc.bad },
        ack_rtt_ns: round_trips(flow),
        owner: None,
    }
}

/// The NAKs among these answers.
pub(super) fn naks(answers: &ResponseCounts) -> NaksReport {
    NaksReport {
        psn_sequence_error: answers.psn_sequence_error,
        invalid_request: answers.invalid_request,
        remote_access_error: answers.remote_access_error,
        remote_operational_error: answers.remote_operational_error,
        invalid_rd_request: answers.invalid_rd_request,
        reserved: answers.reserved,
    }
}

fn cnp_reaction(reactions: &Reactions) -> Option<CnpReaction> {
    let mean_bps = |bytes: u64| {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        (bits / u128::from(WINDOW_NS) / u128::from(reactions.samples.max(1))) as u64
    };
    (reactions.samples > 0).then(|| CnpReaction {
        samples: reactions.samples,
        slowed: reactions.slowed,
        window_ns: WINDOW_NS,
        mean_before_bps: mean_bps(reactions.bytes_before),
        mean_after_bps: mean_bps(reactions.bytes_after),
    })
}

/// Messages whose last packet was seen.
pub(super) fn messages(flow: &Flow) -> MessagesReport {
    let messages = flow.requester().messages.counts();
    MessagesReport {
        send: messages.count(MessageKind::Send),
        write: messages.count(MessageKind::Write),
        write_with_immediate: messages.count(MessageKind::WriteWithImmediate),
        read: messages.count(MessageKind::Read),
        atomic: messages.count(MessageKind::Atomic),
    }
}

fn opcodes(flow: &Flow) -> Counts {
    let name = |opcode: Opcode| match opcode.name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(opcode.to_string()),
    };
    flow.opcodes.to_vec().into_iter().map(|(opcode, count)| (name(opcode), count)).collect()
}

fn episodes(sources: &Sources<'_>, tap: TapId, episodes: &Episodes) -> Vec<EpisodeReport> {
    if sources.context.detail >= Detail::Events {
        let listed = episodes.listed().iter().map(|episode| EpisodeReport {
            trigger: episode.trigger.name(),
            count: 1,
            start_ns: sources.aligned_ns(tap, episode.start),
            recovery_ns: episode.recovery_ns,
            resent_packets: episode.resent_packets,
        });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by_key(|episode| episode.start_ns);
        return listed;
    }
    Trigger::ALL
        .into_iter()
        .map(|trigger| (trigger, episodes.totals(trigger)))
        .filter(|(_, totals)| totals.count > 0)
        .map(|(trigger, totals)| EpisodeReport {
            trigger: trigger.name(),
            count: totals.count,
            start_ns: sources.aligned_ns(tap, totals.first_start),
            recovery_ns: totals.recovery_ns,
            resent_packets: totals.resent_packets,
        })
        .collect()
}

impl PsnReport {
    fn new(flow: &Flow) -> Self {
        let requests = &flow.requester().requests;
        let counts = requests.counts();
        let requests = requests.first().zip(requests.last());
        let (space, psns) = match (requests, flow.responses.psns()) {
            (Some(psns), _) => (Some("request"), Some(psns)),
            (None, Some(psns)) => (Some("response"), Some(psns)),
            (None, None) => (None, None),
        };
        let known = |count: u64| flow.has_sequence().then_some(count);
        Self {
            space,
            first: psns.map(|(first, _)| first.value()),
            last: psns.map(|(_, last)| last.value()),
            gap_packets: known(counts.gap_packets),
            out_of_order_packets: known(counts.out_of_order_packets),
            retransmitted_packets: known(counts.retransmitted_packets),
            ambiguous_packets: known(counts.ambiguous_packets),
            uncaptured_packets: flow.unseen_requests().map(|[uncaptured, _]| uncaptured),
            unresolved_packets: flow.unseen_requests().map(|[_, unresolved]| unresolved),
            response_gap_packets: known(flow.responses.gap_packets()),
        }
    }
}

impl EcnReport {
    fn new(counts: EcnCounts, is_next_to_sender: bool) -> Self {
        Self {
            not_ect: counts.count(Ecn::NotEct),
            ect0: counts.count(Ecn::Ect0),
            ect1: counts.count(Ecn::Ect1),
            ce: counts.visible_ce(is_next_to_sender),
        }
    }
}

fn round_trips(flow: &Flow) -> Option<RoundTripReport> {
    let durations = flow.requester().round_trips.durations();
    Some(RoundTripReport {
        p50: durations.quantile_ns(0.5)?,
        p99: durations.quantile_ns(0.99)?,
        max: durations.max_ns()?,
        samples: durations.samples(),
    })
}

fn named<K>(counts: impl Iterator<Item = (K, u64)>, name: impl Fn(K) -> String) -> Counts {
    counts.map(|(value, count)| (Cow::Owned(name(value)), count)).collect()
}

const fn evidence_name(evidence: PairEvidence) -> &'static str {
    match evidence {
        PairEvidence::UdpPort => "udp_port",
        PairEvidence::PsnAck => "psn_ack",
        PairEvidence::ConnectionManager => "cm",
    }
}
