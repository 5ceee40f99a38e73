//! State of one flow: one direction to one queue pair in one epoch.

use serde::{Deserialize, Serialize};

use super::burst::BucketMarks;
use super::episode::Episodes;
use super::key::FlowKey;
use super::opcodes::OpcodeCounts;
use super::path_mtu::FullPackets;
use super::port::PortIndex;
use super::requester::Requester;
use super::response::ResponseSpace;
use super::sighting::Sighting;
use super::tally::Tally;
use crate::decode::roce::aeth::Syndrome;
use crate::model::direction::Direction;
use crate::model::ecn::{Dscp, Ecn};
use crate::model::opcode::{Opcode, Traits, Transport};
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;
use crate::model::time::{Span, Timestamp};

/// A packet this soon after an identical one is a copy, while no round trip is known.
pub const COPY_LIMIT_NS: u64 = 100_000;

/// The same if each packet has its own identification: a retransmission has a new one.
const OWN_IDENTIFICATION_LIMIT_NS: u64 = 100_000_000;

/// Why two flows are considered each other's reverse, weakest evidence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PairEvidence {
    /// The same UDP source port both ways, unique between the two hosts.
    UdpPort,
    /// ACKs carry PSNs for which the other direction requested an ACK.
    PsnAck,
    /// The connection manager's REQ and REP named both QPNs.
    ConnectionManager,
}

/// The other direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reverse {
    /// Its index in the flow table.
    pub flow: u32,
    /// The QP it goes to, which sends this flow.
    pub dest_qpn: Qpn,
    /// How the two directions were matched.
    pub evidence: PairEvidence,
}

/// Counts by ECN codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcnCounts([u64; 4]);

/// ECN of the outer IP headers of packets in a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OuterEcn {
    /// By the outer codepoint.
    pub counts: EcnCounts,
    /// By the inner codepoint, of packets that only the outer header marks.
    pub only_outer_ce: EcnCounts,
}

/// What is known of ECN besides counts of the inner IP header.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct EcnDetails {
    pub(super) first: Option<Sighting>,
    pub(super) outer: Option<OuterEcn>,
}

/// Header fields that rarely change on a flow, counted in runs of equal values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeaderTallies {
    run: HeaderFields,
    run_length: u64,
    /// Completed runs; most flows have none.
    ended: Option<Box<EndedRuns>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EndedRuns {
    dscp: Tally<Dscp>,
    partition_keys: Tally<u16>,
    udp_source_ports: Tally<u16>,
}

/// The fields that [`HeaderTallies`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderFields {
    /// Differentiated services codepoint.
    pub dscp: Dscp,
    /// BTH partition key.
    pub partition_key: u16,
    /// Source port of the outer UDP header.
    pub udp_source_port: u16,
}

/// ICRCs checked; only complete frames have one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IcrcCounts {
    /// Compared.
    pub checked: u64,
    /// Wrong ones.
    pub bad: u64,
}

/// One flow in one epoch. Counters are public for reading; [`super::table::FlowTable`] owns them.
///
/// Fields are in memory in this order, what every packet changes first and together: with many flows, most
/// of a packet's time goes to fetching the cache lines of its flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
#[expect(
    missing_docs,
    reason = "each field is named as its key in the report, where it is defined"
)]
pub struct Flow {
    pub key: FlowKey,
    /// 0 for the first use of the QPN, incremented with each reuse.
    pub epoch: u32,
    pub transport: Transport,
    /// The connection manager assigned its QPN to a new connection: the next packet starts another
    /// epoch.
    pub(super) is_closed: bool,
    /// A later epoch has replaced it in the table's index.
    pub(super) is_superseded: bool,
    pub has_several_sources: bool,
    /// Created with its first request, or what answers or notifies one that was not seen.
    pub(super) requester: Option<Box<Requester>>,
    pub(super) copy_limit_ns: u64,
    pub span: Span,
    pub frames: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub headers: HeaderTallies,
    pub(super) ports: [Option<PortIndex>; 2],
    pub(super) bucket_marks: [BucketMarks; 2],
    pub reverse: Option<Reverse>,
    /// UDP source port of its first packet, for pairing.
    pub(super) first_udp_source_port: u16,
    /// Direction of its first frame at the interface, if the capture has it.
    pub direction: Option<Direction>,
    pub opcodes: OpcodeCounts,
    pub ecn: EcnCounts,
    pub icrc: IcrcCounts,
    /// The two longest times without a frame, from the frame before to the frame after, the longer
    /// one first.
    pub longest_silences: [Span; 2],
    pub responses: ResponseSpace,
    /// Sizes of its packets that are not the last of a message, of requests and READ responses.
    pub full_packets: FullPackets,
    /// Created with the first mark, or the first packet in a tunnel.
    pub(super) ecn_details: Option<Box<EcnDetails>>,
    /// Created when the sender first goes back.
    pub episodes: Option<Box<Episodes>>,
    /// Created with the first packets counted in the kernel.
    pub(super) counted: Option<Box<Counted>>,
    pub cnps: u64,
    /// ACKs and NAKs of PSNs that were never seen.
    pub unexpected_acks: u64,
    /// Number of its first frame in its file, from 1.
    pub first_frame: u64,
    /// Sender of UD packets; `None` if several share the flow, and for other transports.
    pub datagram_source_qpn: Option<Qpn>,
}

impl Flow {
    /// A flow that starts with a packet of `opcode` at `time`.
    #[must_use]
    pub(super) fn new(
        key: FlowKey,
        epoch: u32,
        opcode: Opcode,
        time: Timestamp,
        ports: [Option<PortIndex>; 2],
    ) -> Self {
        Self {
            key,
            epoch,
            reverse: None,
            is_closed: false,
            is_superseded: false,
            first_udp_source_port: 0,
            datagram_source_qpn: None,
            has_several_sources: false,
            transport: opcode.transport(),
            span: Span { first: time, last: time },
            longest_silences: [Span { first: time, last: time }; 2],
            first_frame: 0,
            frames: 0,
            wire_bytes: 0,
            payload_bytes: 0,
            ecn: EcnCounts::default(),
            ecn_details: None,
            headers: HeaderTallies::default(),
            opcodes: OpcodeCounts::default(),
            requester: None,
            responses: ResponseSpace::default(),
            episodes: None,
            cnps: 0,
            unexpected_acks: 0,
            icrc: IcrcCounts::default(),
            direction: None,
            full_packets: FullPackets::default(),
            ports,
            bucket_marks: [BucketMarks::default(); 2],
            copy_limit_ns: COPY_LIMIT_NS,
            counted: None,
        }
    }

    /// Time within which an identical packet is a copy.
    #[must_use]
    pub(super) fn copy_limit_ns(&self, traits: Traits, identification: Option<u16>) -> u64 {
        let identifications = if traits.has(Traits::REQUEST) {
            self.requester().requests.identifications()
        } else {
            self.responses.identifications()
        };
        let is_own = identification.is_some_and(|id| id != 0) && identifications.may_rise();
        if is_own { OWN_IDENTIFICATION_LIMIT_NS } else { self.copy_limit_ns }
    }

    /// The QP that sends this flow: from DETH, or the destination QP of its reverse.
    #[must_use]
    pub fn source_qpn(&self) -> Option<Qpn> {
        self.datagram_source_qpn.or(self.reverse.map(|reverse| reverse.dest_qpn))
    }

    /// Whether the reverse rests on more than a UDP port.
    #[must_use]
    pub fn has_proven_reverse(&self) -> bool {
        self.reverse.is_some_and(|reverse| reverse.evidence > PairEvidence::UdpPort)
    }

    /// Whether it is RoCEv2; RoCE v1 and InfiniBand have no UDP header, and no ECN in that of IP.
    #[must_use]
    pub const fn has_udp(&self) -> bool {
        self.first_udp_source_port != 0
    }

    /// Whether PSNs show loss and order: datagrams of one QP number go to many receivers.
    #[must_use]
    pub const fn has_sequence(&self) -> bool {
        matches!(self.transport, Transport::Rc | Transport::Uc | Transport::Xrc)
    }
}

/// State that waits for packets counted in the kernel and delivered later.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counted {
    /// The latest response to packets that are not known yet.
    pub(super) response: Option<Response>,
}

/// A response to requests.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Response {
    pub(super) psn: Psn,
    pub(super) time: Timestamp,
    /// `None` if it was truncated.
    pub(super) syndrome: Option<Syndrome>,
    pub(super) is_ack: bool,
}

impl EcnCounts {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, ecn: Ecn) {
        self.0[ecn as usize] += 1;
    }

    /// Counts packets by codepoint.
    pub fn add_all(&mut self, packets: [u32; 4]) {
        self.0.iter_mut().zip(packets).for_each(|(sum, more)| *sum += u64::from(more));
    }

    /// The same, with packets that another header marks as CE; `marked` has their codepoints here.
    #[must_use]
    pub(super) fn with_ce(mut self, marked: Self) -> Self {
        self.0.iter_mut().zip(marked.0).for_each(|(sum, marked)| *sum -= marked);
        self.0[Ecn::Ce as usize] += marked.0.iter().sum::<u64>();
        self
    }

    /// Packets with this codepoint.
    #[must_use]
    pub const fn count(&self, ecn: Ecn) -> u64 {
        self.0[ecn as usize]
    }

    /// Packets with a CE mark; `None` if that cannot be known: next to the sender no switch has
    /// marked a packet yet, so that 0 says nothing.
    #[must_use]
    pub const fn visible_ce(&self, is_next_to_sender: bool) -> Option<u64> {
        match self.count(Ecn::Ce) {
            0 if is_next_to_sender => None,
            marked => Some(marked),
        }
    }
}

impl HeaderTallies {
    /// Counts a packet's fields.
    #[inline]
    pub fn add(&mut self, fields: HeaderFields) {
        if fields != self.run {
            self.end_run(fields);
        }
        self.run_length += 1;
    }

    /// Counts packets with the same fields as the latest one.
    pub fn add_alike(&mut self, packets: u64) {
        self.run_length += packets;
    }

    /// Packets whose values did not fit.
    #[must_use]
    pub fn overflow(&self) -> u64 {
        self.ended.as_ref().map_or(0, |ended| {
            let keys = ended.partition_keys.overflow().max(ended.udp_source_ports.overflow());
            keys.max(ended.dscp.overflow())
        })
    }

    /// Packets by DSCP, ascending.
    #[must_use]
    pub fn dscp(&self) -> Tally<Dscp> {
        self.with_run(self.ended.as_ref().map(|ended| &ended.dscp), self.run.dscp)
    }

    /// Packets by partition key, ascending.
    #[must_use]
    pub fn partition_keys(&self) -> Tally<u16> {
        let ended = self.ended.as_ref().map(|ended| &ended.partition_keys);
        self.with_run(ended, self.run.partition_key)
    }

    /// Packets by UDP source port, ascending.
    #[must_use]
    pub fn udp_source_ports(&self) -> Tally<u16> {
        let ended = self.ended.as_ref().map(|ended| &ended.udp_source_ports);
        self.with_run(ended, self.run.udp_source_port)
    }

    /// A tally including the open run.
    fn with_run<K: Copy + Ord>(&self, ended: Option<&Tally<K>>, value: K) -> Tally<K> {
        let mut tally = ended.cloned().unwrap_or_default();
        if self.run_length > 0 {
            tally.add(value, self.run_length);
        }
        tally
    }

    #[cold]
    fn end_run(&mut self, next: HeaderFields) {
        if self.run_length > 0 {
            let ended = self.ended.get_or_insert_default();
            ended.dscp.add(self.run.dscp, self.run_length);
            ended.partition_keys.add(self.run.partition_key, self.run_length);
            ended.udp_source_ports.add(self.run.udp_source_port, self.run_length);
        }
        self.run = next;
        self.run_length = 0;
    }
}
