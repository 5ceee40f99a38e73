//! The ACK extended transport header: 4 bytes (IBTA volume 1, sections 9.3.5 and 9.7.5).
//!
//! ```text
//! byte 0                  1..3
//!      kind(3)|value(5)   MSN
//!
//! kind 0 ACK: value is the credit count; 1 RNR NAK: the timer; 3 NAK: the code
//! ```

use serde::{Deserialize, Serialize};

/// Bytes of the header.
pub const LEN: usize = 4;

#[doc(alias = "infiniband.aeth")]
/// An ACK extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// The responder's answer.
    #[doc(alias = "infiniband.aeth.syndrome")]
    pub syndrome: Syndrome,
    /// Message sequence number: messages completed by the responder, 24 bits.
    #[doc(alias = "infiniband.aeth.msn")]
    pub msn: u32,
}

/// The syndrome byte, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Syndrome {
    /// Acknowledged.
    Ack {
        /// Encoded end-to-end credit count, 0 ..= 30; 31 means that credits are not used.
        credits: u8,
    },
    /// Receiver not ready: no receive buffer was posted.
    RnrNak {
        /// Encoded delay, 0 ..= 31; [`rnr_timer_ns`] has nanoseconds.
        timer: u8,
    },
    /// Negative acknowledgement.
    Nak(NakCode),
    /// A syndrome that is reserved.
    Reserved(u8),
}

/// Why a request was refused (IBTA volume 1, table 46).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NakCode {
    /// PSN sequence error: a packet is missing; the sender goes back to the AETH's PSN.
    PsnSequenceError,
    /// The request is malformed, or not permitted on this queue pair.
    InvalidRequest,
    /// Remote access error: bad `R_Key`, address or permission.
    RemoteAccessError,
    /// The responder failed locally.
    RemoteOperationalError,
    /// The request is invalid for reliable datagrams.
    InvalidRdRequest,
    /// A code that is reserved.
    Reserved(u8),
}

impl Aeth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[syndrome, m0, m1, m2] = bytes;
        Self { syndrome: Syndrome::decode(syndrome), msn: u32::from_be_bytes([0, m0, m1, m2]) }
    }
}

impl Syndrome {
    /// Reads the syndrome byte (IBTA volume 1, table 44).
    #[inline]
    #[must_use]
    pub const fn decode(byte: u8) -> Self {
        let value = byte & 0x1f;
        match byte >> 5 {
            0 => Self::Ack { credits: value },
            1 => Self::RnrNak { timer: value },
            3 => Self::Nak(NakCode::decode(value)),
            _ => Self::Reserved(byte),
        }
    }
}

impl NakCode {
    /// The code in the low five bits of a NAK's syndrome.
    #[must_use]
    pub const fn decode(value: u8) -> Self {
        match value {
            0 => Self::PsnSequenceError,
            1 => Self::InvalidRequest,
            2 => Self::RemoteAccessError,
            3 => Self::RemoteOperationalError,
            4 => Self::InvalidRdRequest,
            other => Self::Reserved(other),
        }
    }
}

/// The RNR delay by timer code, in units of 10 us (IBTA volume 1, table 45).
const RNR_TIMER: [u16; 32] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152,
];

/// The delay of a requester after an RNR NAK, in nanoseconds: 10 us to 655.36 ms. Only the low five
/// bits of `timer` count; 0 is the longest delay.
#[must_use]
pub fn rnr_timer_ns(timer: u8) -> u64 {
    match RNR_TIMER.get(usize::from(timer & 0x1f)) {
        Some(&units) if units > 0 => u64::from(units).saturating_mul(10_000),
        _ => 655_360_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rnr_timer_covers_its_range() {
        let waits: Vec<u64> = (1..32).chain([0]).map(rnr_timer_ns).collect();
        assert!(waits.is_sorted());
        assert_eq!(waits.first(), Some(&10_000));
        assert_eq!(rnr_timer_ns(12), 640_000);
        assert_eq!(rnr_timer_ns(31), 491_520_000);
        assert_eq!(rnr_timer_ns(32), 655_360_000);
    }

    #[test]
    fn syndrome_kinds() {
        assert_eq!(Syndrome::decode(0x1f), Syndrome::Ack { credits: 31 });
        assert_eq!(Syndrome::decode(0x2c), Syndrome::RnrNak { timer: 12 });
        assert_eq!(Syndrome::decode(0x60), Syndrome::Nak(NakCode::PsnSequenceError));
        assert_eq!(Syndrome::decode(0x7f), Syndrome::Nak(NakCode::Reserved(31)));
        assert_eq!(Syndrome::decode(0x41), Syndrome::Reserved(0x41));
        assert_eq!(Syndrome::decode(0x80), Syndrome::Reserved(0x80));
    }
}
