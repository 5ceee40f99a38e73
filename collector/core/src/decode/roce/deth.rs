//! The datagram extended transport header: 8 bytes (IBTA volume 1, section 9.3.2).
//!
//! ```text
//! byte 0..3   4         5..7
//!      Q_Key  reserved  source QPN
//! ```

use crate::model::qpn::Qpn;

/// Bytes of the header.
pub const LEN: usize = 8;

#[doc(alias = "infiniband.deth")]
/// A datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deth {
    /// Queue key (`Q_Key`).
    #[doc(alias = "infiniband.deth.q_key")]
    pub queue_key: u32,
    /// The queue pair that sent it.
    #[doc(alias = "infiniband.deth.srcqp")]
    pub source_qpn: Qpn,
}

impl Deth {
    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[k0, k1, k2, k3, _, q0, q1, q2] = bytes;
        Self {
            queue_key: u32::from_be_bytes([k0, k1, k2, k3]),
            source_qpn: Qpn::new(u32::from_be_bytes([0, q0, q1, q2])),
        }
    }
}
