//! The two marks in an IP header's traffic class byte: ECN (RFC 3168) and DSCP (RFC 2474).

use serde::{Deserialize, Serialize};

/// The ECN codepoint of an IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Ecn {
    /// Not ECN-capable: a switch can only drop.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport (1).
    Ect1 = 0b01,
    /// ECN-capable transport (0): what RoCEv2 senders set.
    Ect0 = 0b10,
    /// Congestion experienced: a switch marked this packet.
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint in the low two bits of an IPv4 TOS or IPv6 traffic class byte.
    #[must_use]
    pub const fn from_traffic_class(byte: u8) -> Self {
        match byte & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// A differentiated services codepoint, 0 to 63.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Dscp(u8);

impl Dscp {
    /// The codepoint in the high six bits of an IPv4 TOS or IPv6 traffic class byte.
    #[must_use]
    pub const fn from_traffic_class(byte: u8) -> Self {
        Self(byte >> 2)
    }

    /// The codepoint, 0 to 63.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }
}
