//! Queue pairs joined over taps: each flow with its responses, the worst first.

use std::borrow::Cow;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::flows::{MessagesReport, NaksReport, messages, naks};
use super::owner;
use super::processes::{EndReport, Ends};
use super::sources::Sources;
use crate::analysis::queue_pair::QueuePair;
use crate::analysis::severity::Severity;
use crate::flow::episode::Trigger;
use crate::flow::state::Flow;
use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;

/// A queue pair's traffic in one direction, joined over taps. Each figure is from the tap that saw
/// most: retransmissions from the sender's side, gaps from the receiver's.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueuePairReport {
    /// Its index in this list, which is ordered by severity, then by bytes carried.
    pub id: u32,
    /// Sender's address.
    pub src: String,
    /// Receiver's address.
    pub dst: String,
    /// The queue pair that it goes to.
    pub dest_qpn: u32,
    /// The queue pair that sends it; `null` if unknown.
    pub source_qpn: Option<u32>,
    /// Number of the QPN's use, from 0.
    pub epoch: u32,
    /// `critical`: a NAK ended the connection. `warning`: packets were missing or retransmitted, or
    /// the receiver was not ready. `info`: packets were CE-marked or out of order, or CNPs arrived.
    /// `null`: none of these.
    pub severity: Option<&'static str>,
    /// `id` of the communicator; `null` if unknown.
    pub communicator: Option<String>,
    /// The rank whose side sends it.
    pub rank: Option<u32>,
    /// The other rank.
    pub peer_rank: Option<u32>,
    /// NCCL's channel.
    pub channel: Option<u32>,
    /// `id` of the connection.
    pub connection: Option<u32>,
    /// `data` or `control`, as in `flows[].owner`.
    pub role: Option<&'static str>,
    /// Why the ranks are `null`.
    pub why_unknown: Option<Cow<'static, str>>,
    /// The process that sends it, from `rdma resource show qp` of its host; `null` if no list has exactly
    /// one such queue pair.
    pub source_process: Option<Box<EndReport>>,
    /// The process that receives it, likewise.
    pub dest_process: Option<Box<EndReport>>,
    /// Taps that saw it.
    pub taps: Vec<u32>,
    /// `id` of the flow at the tap that saw most of its payload.
    pub flow: u32,
    /// `id`s of its flows at all taps and of their reverse flows.
    pub flows: Vec<u32>,
    /// It carries requests; otherwise only responses or unknown packets.
    pub has_requests: bool,
    /// First frame at the tap of `flow`.
    pub first_ns: i64,
    /// Last frame at the tap of `flow`.
    pub last_ns: i64,
    /// Frames at the tap that saw most.
    pub frames: u64,
    /// Payload of requests and of READ responses that come back.
    pub payload_bytes: u64,
    /// Rate of `payload_bytes` from `first_ns` to `last_ns`, in bits per second; `null` if these are
    /// the same.
    pub rate_bps: Option<u64>,
    /// Path MTU; `null` if no message showed it.
    pub path_mtu_bytes: Option<u32>,
    /// Messages whose last packet was seen, at the tap of `flow`.
    pub messages: MessagesReport,
    /// AETHs that it carries itself, at the tap of `flow`.
    pub acks: u64,
    /// Packets missing when later ones passed, READ responses included, without those that only the
    /// capture lost.
    pub missing_packets: u64,
    /// Packets sent before a packet that a tap saw earlier.
    pub out_of_order_packets: u64,
    /// Request packets that were sent again.
    pub retransmitted_packets: u64,
    /// Recoveries by trigger, at the tap that saw most; triggers without recoveries are left out.
    pub recoveries: Vec<RecoveryReport>,
    /// `id` of the flow at the tap that saw most of these: its `episodes` are the queue pair's; `null`
    /// without recoveries.
    pub recovery_flow: Option<u32>,
    /// NAKs that came back.
    pub naks: NaksReport,
    /// Receiver-not-ready NAKs that came back.
    pub rnr_naks: u64,
    /// CE-marked packets; `null` if every tap that saw it is next to its sender, before any switch.
    pub ce_packets: Option<u64>,
    /// Packets that were checked for `ce_packets`.
    pub ce_among_packets: u64,
    /// CNPs that came back.
    pub cnps: u64,
    /// Median ACK round trip; `null` without any.
    pub ack_rtt_p50_ns: Option<u64>,
}

/// Recoveries with one trigger.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecoveryReport {
    /// `nak`, `rnr`, `timeout` or `unknown`.
    pub trigger: &'static str,
    /// Number of recoveries.
    pub count: u64,
    /// Time in recovery.
    pub recovery_ns: u64,
}

impl QueuePairReport {
    /// NAKs that end a connection.
    #[must_use]
    pub fn fatal_naks(&self) -> u64 {
        let naks = &self.naks;
        naks.invalid_request
            + naks.remote_access_error
            + naks.remote_operational_error
            + naks.invalid_rd_request
            + naks.reserved
    }

    /// Number of recoveries that `trigger` began; 0 if there were none.
    #[must_use]
    pub fn recoveries(&self, trigger: &str) -> u64 {
        let known = self.recoveries.iter().find(|one| one.trigger == trigger);
        known.map_or(0, |one| one.count)
    }
}

/// How many queue pairs there are, one per direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairTallies {
    /// All of them.
    pub all: usize,
    /// Those that carry requests.
    pub with_requests: usize,
    /// Those that were captured only before any switch, so that nothing is known of their CE marks.
    pub without_marks: usize,
}

impl QueuePairTallies {
    /// Of these rows.
    #[must_use]
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a QueuePairReport>) -> Self {
        let mut tallies = Self::default();
        for one in rows {
            tallies.add(one.has_requests, one.ce_packets.is_some());
        }
        tallies
    }

    fn add(&mut self, has_requests: bool, has_marks: bool) {
        self.all += 1;
        self.with_requests += usize::from(has_requests);
        self.without_marks += usize::from(!has_marks);
    }
}

/// The queue pairs, made one by one as they are written.
pub struct Rows<'a>(pub(super) &'a Sources<'a>);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(rows(self.0))
    }
}

/// The queue pairs, the worst first, then the largest.
pub(super) fn rows(sources: &Sources<'_>) -> impl Iterator<Item = QueuePairReport> {
    let ends = Ends::of(&sources.state.nodes);
    let mut texts = AddressTexts::default();
    (0..)
        .zip(known(sources))
        .map(move |(id, (one, fullest))| report(sources, (&ends, &mut texts), id, one, fullest))
}

/// How many there are.
pub(super) fn tallies(sources: &Sources<'_>) -> QueuePairTallies {
    let mut tallies = QueuePairTallies::default();
    for (one, _) in known(sources) {
        tallies.add(one.has_requests, one.visible_marks().is_some());
    }
    tallies
}

fn known<'a>(sources: &'a Sources<'_>) -> impl Iterator<Item = (&'a QueuePair, Fullest<'a>)> {
    let flows = sources.state.tracker.flows().flows();
    sources.understanding.queue_pairs.iter().filter_map(|one| {
        let id = sources.flow_ids.of(one.at)?;
        let fullest = Fullest { flow: flows.get(one.at as usize)?, id };
        Some((one, fullest))
    })
}

/// The flow of the view that saw most, with its `id`.
struct Fullest<'a> {
    flow: &'a Flow,
    id: u32,
}

/// Addresses as text: few of them, in many rows.
#[derive(Default)]
struct AddressTexts(HashMap<HostAddress, String>);

impl AddressTexts {
    fn of(&mut self, address: HostAddress) -> String {
        self.0.entry(address).or_insert_with(|| address.to_string()).clone()
    }
}

fn report(
    sources: &Sources<'_>,
    (ends, texts): (&Ends<'_>, &mut AddressTexts),
    id: u32,
    one: &QueuePair,
    Fullest { flow: fullest, id: flow }: Fullest<'_>,
) -> QueuePairReport {
    let flows = sources.state.tracker.flows().flows();
    let id_of = |at: u32| sources.flow_ids.of(at);
    let views = || one.views.iter().filter_map(|at| Some((*at, flows.get(*at as usize)?)));
    let ids = views().flat_map(|(at, flow)| [Some(at), flow.reverse.map(|back| back.flow)]);
    let owner = owner::of_flow(sources, one.at);
    let tap = fullest.key.tap;
    let source_qpn = fullest.source_qpn();
    QueuePairReport {
        id,
        src: texts.of(fullest.key.source),
        dst: texts.of(fullest.key.destination),
        dest_qpn: one.dest_qpn.value(),
        source_qpn: source_qpn.map(Qpn::value),
        epoch: fullest.epoch,
        severity: one.severity().map(Severity::name),
        communicator: owner.as_ref().and_then(|owner| owner.communicator.clone()),
        rank: owner.as_ref().and_then(|owner| owner.rank),
        peer_rank: owner.as_ref().and_then(|owner| owner.peer_rank),
        channel: owner.as_ref().and_then(|owner| owner.channel),
        connection: owner.as_ref().and_then(|owner| owner.connection),
        role: owner.as_ref().and_then(|owner| owner.role),
        why_unknown: owner.and_then(|owner| owner.why_unknown),
        source_process: ends
            .process(fullest.key.source, source_qpn, Some(one.dest_qpn))
            .map(Box::new),
        dest_process: ends
            .process(fullest.key.destination, Some(one.dest_qpn), source_qpn)
            .map(Box::new),
        taps: views().map(|(_, flow)| flow.key.tap.0).collect(),
        flow,
        flows: ids.flatten().filter_map(id_of).collect(),
        has_requests: one.has_requests,
        first_ns: sources.aligned_ns(tap, fullest.span.first),
        last_ns: sources.aligned_ns(tap, fullest.span.last),
        frames: one.frames,
        payload_bytes: one.carried_bytes,
        rate_bps: one.rate_bps,
        path_mtu_bytes: fullest.requester().messages.path_mtu(),
        messages: messages(fullest),
        acks: fullest.responses.counts().acks,
        missing_packets: one.missing,
        out_of_order_packets: one.late,
        retransmitted_packets: one.resent,
        recoveries: recoveries(one),
        recovery_flow: one.recovered_at.and_then(id_of),
        naks: naks(&one.naks),
        rnr_naks: one.naks.rnr_naks,
        ce_packets: one.visible_marks().map(|(ce, _)| ce),
        ce_among_packets: one.marks.1,
        cnps: one.cnps,
        ack_rtt_p50_ns: one.round_trip_ns,
    }
}

fn recoveries(one: &QueuePair) -> Vec<RecoveryReport> {
    let of = |trigger: Trigger| {
        let totals = one.recoveries(trigger);
        let trigger = trigger.name();
        RecoveryReport { trigger, count: totals.count, recovery_ns: totals.recovery_ns }
    };
    Trigger::ALL.into_iter().map(of).filter(|one| one.count > 0).collect()
}
