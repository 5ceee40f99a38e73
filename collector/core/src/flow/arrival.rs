//! How one packet changes the flow that it belongs to or acknowledges.

use super::requester::Requester;
use super::sighting::Sighting;
use super::state::{Flow, HeaderFields, Response};
use crate::decode::packet::{Ip, Packet};
use crate::decode::roce::aeth::{NakCode, Syndrome};
use crate::decode::roce::packet::RocePacket;
use crate::model::ecn::Ecn;
use crate::model::frame::Frame;
use crate::model::opcode::{Traits, Transport};
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// The smallest path MTU (IBTA volume 1, section 5.2): bounds a READ's packets.
const MIN_PATH_MTU: u32 = 256;

/// A packet this much later is a retransmission rather than a copy, however coarse the clock.
const SHORTEST_COPY_LIMIT_NS: u64 = 1_000;

/// A RoCE packet and its context.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) tap: TapId,
    pub(super) time: Timestamp,
    pub(super) frame: &'a Frame<'a>,
    pub(super) packet: &'a Packet<'a>,
    pub(super) ip: &'a Ip,
    pub(super) roce: &'a RocePacket<'a>,
}

impl Flow {
    /// Notes frames from `first` to `last`.
    #[inline]
    pub(super) fn note_times(&mut self, first: Timestamp, last: Timestamp) {
        let silence = Span { first: self.span.last, last: first };
        let [longest, second] = &mut self.longest_silences;
        if silence.length_ns() > second.length_ns() {
            *second = silence;
            if second.length_ns() > longest.length_ns() {
                std::mem::swap(longest, second);
            }
        }
        self.span.last = self.span.last.max(last);
    }

    /// Whether the last request has no answer.
    #[must_use]
    pub fn awaits_answer(&self) -> bool {
        let Requester { requests, acknowledged, .. } = self.requester();
        let high = requests.high().map(|high| requests.unwrap(high));
        high.is_some_and(|high| acknowledged.is_none_or(|known| known < high))
    }

    /// Whether it had no frame from `span.first` to `span.last`.
    #[must_use]
    pub fn is_silent_in(&self, span: Span) -> bool {
        let covers = |one: &Span| one.first <= span.first && span.last <= one.last;
        self.longest_silences.iter().any(covers)
            || self.span.last <= span.first
            || span.last <= self.span.first
    }

    /// Counts what all packets have in common.
    #[inline]
    pub(super) fn count(&mut self, arrival: &Arrival<'_>) {
        let Arrival { time, packet, ip, roce, .. } = *arrival;
        self.note_times(time, time);
        self.frames += 1;
        self.wire_bytes += u64::from(packet.wire_len);
        if roce.bth.opcode.traits().has(Traits::PAYLOAD) {
            self.payload_bytes += u64::from(roce.payload_len);
        }
        self.ecn.add(ip.ecn());
        if let Some(outer) = &packet.outer_ip {
            let details = self.ecn_details.get_or_insert_default();
            let counts = details.outer.get_or_insert_default();
            counts.counts.add(outer.ecn());
            if outer.ecn() == Ecn::Ce && ip.ecn() != Ecn::Ce {
                counts.only_outer_ce.add(ip.ecn());
            }
        }
        if packet.is_marked() {
            self.note_mark(Sighting { time, frame: arrival.frame.number });
        }
        self.headers.add(HeaderFields {
            dscp: ip.dscp(),
            partition_key: roce.bth.partition_key,
            udp_source_port: roce.udp_source_port,
        });
        self.opcodes.add(roce.bth.opcode);
        if self.transport == Transport::Cnp {
            self.transport = roce.bth.opcode.transport();
        }
        if let Some(deth) = roce.deth {
            self.note_source(deth.source_qpn);
        }
        if let Some(is_right) = roce.has_valid_icrc() {
            self.icrc.checked += 1;
            self.icrc.bad += u64::from(!is_right);
        }
    }

    /// Notes a CE-marked packet.
    pub(super) fn note_mark(&mut self, mark: Sighting) {
        self.ecn_details.get_or_insert_default().first.get_or_insert(mark);
    }

    fn note_source(&mut self, source: Qpn) {
        match self.datagram_source_qpn {
            None if !self.has_several_sources => self.datagram_source_qpn = Some(source),
            Some(known) if known != source => {
                self.datagram_source_qpn = None;
                self.has_several_sources = true;
            }
            _ => {}
        }
    }

    /// PSNs that a READ request consumes, and its maximum while the path MTU is unknown: one per
    /// response packet (IBTA volume 1, section 9.7.3.1).
    pub(super) fn read_packets(&mut self, roce: &RocePacket<'_>) -> (u32, u32) {
        let Some(reth) = roce.reth else { return (1, 1) };
        match self.requester().messages.path_mtu() {
            Some(mtu) if mtu > 0 => {
                let packets = reth.dma_len.div_ceil(mtu).max(1);
                self.note_read(roce, false);
                (packets, packets)
            }
            _ => {
                self.note_read(roce, true);
                (1, reth.dma_len.div_ceil(MIN_PATH_MTU).max(1))
            }
        }
    }

    /// Processes a response to this flow's requests.
    pub(super) fn acknowledge(&mut self, response: Response) {
        let Response { psn, time, syndrome, is_ack } = response;
        // An ACK truncated before its AETH may be a NAK.
        let is_known = matches!(
            syndrome,
            Some(Syndrome::Ack { .. } | Syndrome::Nak(_) | Syndrome::RnrNak { .. })
        );
        let requester = self.requester.get_or_insert_default();
        requester.way_back.visible = true;
        if is_ack && !is_known {
            return;
        }
        let is_nak = matches!(syndrome, Some(Syndrome::Nak(_) | Syndrome::RnrNak { .. }));
        // A NAK acknowledges everything before its PSN.
        let upto = requester.requests.unwrap(psn) - i64::from(is_nak);
        if !requester.requests.has_sent(upto) {
            match &mut self.counted {
                Some(counted) => counted.response = Some(response),
                None => self.unexpected_acks += 1,
            }
            return;
        }
        requester.round_trips.acknowledged(upto, time, is_ack && !is_nak);
        if let Some(min) = requester.round_trips.durations().min_ns() {
            self.copy_limit_ns = (min / 2).max(SHORTEST_COPY_LIMIT_NS);
        }
        requester.requests.acknowledge(upto);
        if let Some(episodes) = &mut self.episodes {
            episodes.acknowledged(upto, time);
        }
        if requester.acknowledged.is_none_or(|acknowledged| upto > acknowledged) {
            requester.acknowledged = Some(upto);
            requester.way_back.nak = None;
            requester.way_back.rnr = None;
        }
        match syndrome {
            Some(Syndrome::Nak(NakCode::PsnSequenceError)) => requester.way_back.nak = Some(time),
            Some(Syndrome::RnrNak { .. }) => requester.way_back.rnr = Some(time),
            _ => {}
        }
    }
}
