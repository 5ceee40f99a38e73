//! Queue pair numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A 24-bit queue pair number. It says nothing without the host that owns it.
#[doc(alias = "infiniband.bth.destqp")]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Qpn(u32);

impl Qpn {
    /// QP1, the general services interface: management datagrams, among them the connection
    /// manager's (IBTA volume 1, section 13.5).
    pub const GSI: Self = Self(1);

    /// A number from the low 24 bits of `value`.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value & 0xff_ffff)
    }

    /// The number, below 2^24.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Qpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
