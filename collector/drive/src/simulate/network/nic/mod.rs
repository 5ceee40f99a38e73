//! A NIC: queue pairs that share one port, and a receive buffer.

mod answer;
pub(super) mod dcqcn;
pub(super) mod queue_pair;
mod receive_buffer;
mod receiving;
mod requester;
mod responder;
mod sending;

use std::collections::VecDeque;

use super::counters::NicCounters;
use super::id::{NicId, PRIORITIES};
use super::plan::{Dcqcn, DscpMap, NicPlan};
use super::port::SimulatedPort;
use super::routing::mix;
use answer::Answer;
use receive_buffer::ReceiveBuffer;

/// Lowest queue pair number of a NIC. The first one in use differs, as if other queue pairs had
/// existed before.
const FIRST_QPN: u32 = 0x100;

/// State of one NIC: queue pairs, answers to send, receive buffer, counters.
#[derive(Debug)]
pub(super) struct Nic {
    pub(super) id: NicId,
    /// Its only port.
    pub(super) port: u32,
    pub(super) is_ipv6: bool,
    pub(super) priorities: DscpMap,
    pub(super) dcqcn: Option<Dcqcn>,
    cnp_dscp: u8,
    ack_every: u32,
    reorder_ns: Option<u64>,
    first_qpn: u32,
    /// Indices of its queue pairs, by number from `first_qpn`.
    pub(super) queue_pairs: Vec<u32>,
    /// Unsent ACKs, NAKs and CNPs, with their queue pairs.
    answers: [VecDeque<(u32, Answer)>; PRIORITIES],
    /// Which of `answers` are not empty.
    answering: u8,
    /// Queue pairs waiting for their turn.
    ready: [VecDeque<u32>; PRIORITIES],
    /// Which of `ready` are not empty.
    requesting: u8,
    receive: ReceiveBuffer,
    identification: u16,
    counters: NicCounters,
}

impl Nic {
    pub(super) fn new(plan: &NicPlan, id: NicId, port: u32, seed: u64) -> Self {
        let chance = mix(seed);
        Self {
            id,
            port,
            is_ipv6: plan.address.is_ipv6(),
            priorities: plan.priorities,
            dcqcn: plan.dcqcn,
            cnp_dscp: plan.cnp_dscp,
            ack_every: plan.ack_every.max(1),
            reorder_ns: plan.reorder_ns,
            first_qpn: FIRST_QPN + (chance & 0x3ff) as u32,
            queue_pairs: Vec::new(),
            answers: Default::default(),
            answering: 0,
            ready: Default::default(),
            requesting: 0,
            receive: ReceiveBuffer::new(plan.receive),
            identification: (chance >> 16) as u16,
            counters: NicCounters::default(),
        }
    }

    /// Number of the next queue pair.
    pub(super) fn next_qpn(&self) -> u32 {
        self.first_qpn + self.queue_pairs.len() as u32
    }

    /// Index of a queue pair.
    pub(super) fn place(&self, qpn: u32) -> Option<u32> {
        self.queue_pairs.get(qpn.checked_sub(self.first_qpn)? as usize).copied()
    }

    pub(super) const fn next_identification(&mut self) -> u16 {
        let identification = self.identification;
        self.identification = identification.wrapping_add(1);
        identification
    }

    /// The priorities with something that `port` may send.
    pub(super) const fn sendable(&self, port: &SimulatedPort) -> u8 {
        if !port.is_up() {
            return 0;
        }
        (self.answering | self.requesting | port.waiting) & !port.paused.set
    }

    /// Bytes of `priority` that wait in the receive buffer.
    pub(super) const fn stored_bytes(&self, priority: u8) -> u64 {
        self.receive.stored_bytes(priority)
    }

    /// Its counters, including those of `port`.
    pub(super) fn counters(&self, port: &SimulatedPort) -> NicCounters {
        let passed = &port.counters;
        NicCounters {
            rx_prio_pause: passed.pauses_received,
            rx_prio_pause_duration: passed.paused_ns.map(|ns| ns / 1000),
            rx_prio_pause_transition: passed.pauses_over,
            tx_prio_pause: passed.pauses_sent,
            tx_prio_pause_duration: passed.asked_pause_ns.map(|ns| ns / 1000),
            link_down_events_phy: passed.downs,
            ..self.counters
        }
    }
}
