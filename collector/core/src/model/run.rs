//! Packets that a source counted instead of delivering them.

use super::opcode::{Opcode, Operation, Traits};
use super::psn::Psn;
use super::time::Timestamp;

/// Packets of a flow counted in the kernel: consecutive middle packets of its messages, or ACKs
/// that each acknowledge more of the same message.
///
/// It precedes the next delivered frame of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Their opcode: the middle of a SEND or RDMA WRITE, or an ACK.
    pub opcode: Opcode,
    /// Packet sequence number of the first one.
    pub first_psn: Psn,
    /// Packet sequence number of the last one.
    pub last_psn: Psn,
    /// Number of packets.
    pub frames: u32,
    /// Wire length of each, without FCS.
    pub wire_len: u32,
    /// When the first one passed.
    pub first_time: Timestamp,
    /// When the last one passed.
    pub last_time: Timestamp,
    /// Number per ECN codepoint (RFC 3168: not-ECT, ECT(1), ECT(0), CE).
    pub ecn: [u32; 4],
    /// When the first one with CE passed.
    pub first_ce_time: Option<Timestamp>,
    /// Frames of the flow since then that should have been delivered and were lost.
    pub lost: u32,
}

/// Least bytes around the payload of a middle packet: Ethernet (14), IPv4 (20), UDP (8), BTH (12),
/// ICRC (4).
const HEADERS_LEN: u32 = 58;

impl Run {
    /// Whether these are ACKs.
    #[must_use]
    pub fn is_of_acks(&self) -> bool {
        self.opcode.operation() == Some(Operation::Acknowledge)
    }

    /// Payload of each: the path MTU, a power of two (IBTA volume 1, section 5.2); none for an ACK.
    #[must_use]
    pub fn payload_len(&self) -> u32 {
        if !self.opcode.traits().has(Traits::PAYLOAD) {
            return 0;
        }
        match self.wire_len.saturating_sub(HEADERS_LEN).checked_ilog2() {
            Some(exponent) => 1 << exponent,
            None => 0,
        }
    }

    /// How many passed in each non-empty interval of `width_ns` since the epoch, and when the first
    /// of these did, assuming even spacing.
    pub fn parts(&self, width_ns: u64) -> impl Iterator<Item = (Timestamp, u32)> + use<> {
        let (first, frames) = (self.first_time, self.frames);
        let gaps = u128::from(frames.saturating_sub(1).max(1));
        let whole = u128::from(self.last_time.nanos_since(first));
        let mut next = 0;
        std::iter::from_fn(move || {
            if next >= frames {
                return None;
            }
            let time = first.plus_nanos((whole * u128::from(next) / gaps) as u64);
            let end = (time.as_nanos() / width_ns + 1).saturating_mul(width_ns);
            let to_end = end - first.as_nanos();
            // The first one that passes at or after the end.
            let after = (whole > 0).then(|| (u128::from(to_end) * gaps).div_ceil(whole));
            let after = after.map_or(frames, |after| after.min(u128::from(frames)) as u32);
            Some((time, after - std::mem::replace(&mut next, after)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u64, last: u64, frames: u32) -> Run {
        let [first_time, last_time] = [first, last].map(Timestamp::from_nanos);
        let psn = Psn::new(0);
        Run {
            opcode: Opcode(7),
            first_psn: psn,
            last_psn: psn,
            frames,
            wire_len: 1082,
            first_time,
            last_time,
            ecn: [0; 4],
            first_ce_time: None,
            lost: 0,
        }
    }

    proptest::proptest! {
        /// As if each frame's time were known.
        #[test]
        fn parts_are_what_frames_are(first in 0_u64..5_000, length in 0_u64..3_000, frames in 0_u32..400) {
            let mut one_by_one = std::collections::BTreeMap::new();
            for number in 0..u64::from(frames) {
                let time = first + length * number / u64::from(frames - 1).max(1);
                let (_, count) = one_by_one.entry(time / 100).or_insert((time, 0));
                *count += 1;
            }
            let parts: Vec<_> = run(first, first + length, frames).parts(100).collect();
            let parts = parts.into_iter().map(|(time, frames)| (time.as_nanos(), frames));
            proptest::prop_assert_eq!(parts.collect::<Vec<_>>(), one_by_one.into_values().collect::<Vec<_>>());
        }
    }
}
