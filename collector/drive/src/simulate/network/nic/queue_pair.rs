//! A queue pair: its two halves, its rate, and its scheduled events.

use super::dcqcn::RateControl;
use super::requester::Requester;
use super::responder::Responder;
use crate::simulate::network::notice::{QueuePairId, QueuePairOptions};
use crate::simulate::network::packet::{Body, Write};
use crate::simulate::network::picoseconds::Picoseconds;

/// Ethernet, IPv4, UDP, BTH and ICRC: the headers of every RoCE packet.
const ROCE_BYTES: u16 = 14 + 20 + 8 + 12 + 4;

/// Extra bytes of IPv6.
const IPV6_BYTES: u16 = 20;

const RETH_BYTES: u16 = 16;
const IMMEDIATE_BYTES: u16 = 4;
const AETH_BYTES: u16 = 4;

/// Payload of a CNP: reserved (annex A17.9.3).
const CNP_BYTES: u16 = 16;

/// A queue pair's peer and connection options.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulate::network) struct Connection {
    pub(in crate::simulate::network) peer: QueuePairId,
    pub(in crate::simulate::network) options: QueuePairOptions,
    /// Priority of its packets, in its NIC.
    pub(in crate::simulate::network) priority: u8,
    pub(in crate::simulate::network) is_ipv6: bool,
}

impl Connection {
    /// Frame size of a packet with `body`, without FCS.
    pub(in crate::simulate::network) fn frame_bytes(&self, body: &Body) -> u16 {
        let inner = match body {
            Body::Write(write) => write_bytes(write),
            Body::Acknowledge { .. } => AETH_BYTES,
            Body::Cnp { .. } | Body::Datagram { .. } | Body::Pause { .. } => CNP_BYTES,
        };
        ROCE_BYTES + inner + if self.is_ipv6 { IPV6_BYTES } else { 0 }
    }
}

/// RETH, immediate, and the payload padded to four bytes.
fn write_bytes(write: &Write) -> u16 {
    let reth = if write.first.is_some() { RETH_BYTES } else { 0 };
    let immediate = if write.immediate.is_some() { IMMEDIATE_BYTES } else { 0 };
    reth + immediate + write.payload_bytes.next_multiple_of(4)
}

/// State of one queue pair: both halves, its rate and its timers.
#[derive(Debug)]
pub(in crate::simulate::network) struct QueuePair {
    pub(in crate::simulate::network) id: QueuePairId,
    pub(in crate::simulate::network) connection: Option<Connection>,
    pub(in crate::simulate::network) requester: Requester,
    pub(in crate::simulate::network) responder: Responder,
    /// `None`: always at the port's rate.
    pub(in crate::simulate::network) rate: Option<RateControl>,
    /// Earliest departure of the next packet.
    pub(in crate::simulate::network) next_at: Picoseconds,
    /// Whether it waits for its turn, or an event will give it one.
    pub(in crate::simulate::network) scheduled: bool,
    /// Whether an event will check for an overdue ACK.
    pub(in crate::simulate::network) timeout_planned: bool,
    /// Whether an event will check for a packet that stays missing.
    pub(in crate::simulate::network) gap_planned: bool,
    /// Whether its answer is queued.
    pub(in crate::simulate::network) answer_queued: bool,
    /// Whether its CNP is queued.
    pub(in crate::simulate::network) cnp_queued: bool,
    pub(in crate::simulate::network) last_cnp: Option<Picoseconds>,
    /// Whether it was destroyed, or is in error: it neither sends nor answers.
    pub(in crate::simulate::network) is_gone: bool,
}

impl QueuePair {
    pub(in crate::simulate::network) fn new(id: QueuePairId, rate: Option<RateControl>) -> Self {
        Self {
            id,
            connection: None,
            requester: Requester::default(),
            responder: Responder::default(),
            rate,
            next_at: Picoseconds::default(),
            scheduled: false,
            timeout_planned: false,
            gap_planned: false,
            answer_queued: false,
            cnp_queued: false,
            last_cnp: None,
            is_gone: false,
        }
    }
}
