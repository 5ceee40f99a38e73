//! The datagram extended transport header: 8 bytes (IBTA volume 1, section 9.3.2).

use crate::model::qpn::Qpn;

/// Bytes of the header.
pub const LEN: usize = 8;

/// A datagram extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deth {
    /// Queue key (Q_Key).
    pub queue_key: u32,
    /// The queue pair that sent it.
    pub source_qpn: Qpn,
}
