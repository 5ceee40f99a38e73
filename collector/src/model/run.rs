//! Packets that a source counted instead of handing them out.

use super::opcode::Opcode;
use super::psn::Psn;
use super::time::Timestamp;

/// Middles of a flow's messages, each the successor of the one before, counted where they passed.
///
/// It stands before the next frame of the flow, which is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What each of them is: the middle of a SEND or of an RDMA WRITE.
    pub opcode: Opcode,
    /// Packet sequence number of the first one.
    pub first_psn: Psn,
    /// How many.
    pub frames: u32,
    /// Bytes that each had on the wire, without FCS.
    pub wire_len: u32,
    /// When the first one passed.
    pub first_time: Timestamp,
    /// When the last one passed.
    pub last_time: Timestamp,
    /// How many had each ECN codepoint (RFC 3168: not-ECT, ECT(1), ECT(0), CE).
    pub ecn: [u32; 4],
    /// When the first one with CE passed.
    pub first_ce_time: Option<Timestamp>,
    /// Frames of the flow that were to be handed out since, and were lost on the way.
    pub lost: u32,
}

/// Bytes around the payload of a middle packet, at the least: Ethernet (14), IPv4 (20), UDP (8), BTH
/// (12), ICRC (4).
const HEADERS_LEN: u32 = 58;

impl Run {
    /// Bytes of payload of each: the path MTU, a power of two (IBTA volume 1, section 5.2).
    #[must_use]
    pub fn payload_len(&self) -> u32 {
        match self.wire_len.saturating_sub(HEADERS_LEN).checked_ilog2() {
            Some(exponent) => 1 << exponent,
            None => 0,
        }
    }

    /// When each of them passed, taken as evenly spread.
    pub fn times(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let (first, frames) = (self.first_time, u64::from(self.frames));
        let whole = self.last_time.nanos_since(first);
        (0..frames).map(move |number| {
            let share = u128::from(whole) * u128::from(number) / u128::from((frames - 1).max(1));
            first.plus_nanos(share as u64)
        })
    }
}
