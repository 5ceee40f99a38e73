//! The base transport header: 12 bytes, in every RoCE packet (IBTA volume 1, section 9.2).
//!
//! ```text
//! byte 0      1                    2..3   4                5..7       8            9..11
//!      opcode SE|M|Pad(2)|TVer(4)  P_Key  F|B|reserved(6)  dest QPN   A|reserved   PSN
//! ```

use crate::model::opcode::Opcode;
use crate::model::psn::Psn;
use crate::model::qpn::Qpn;

/// Bytes of the header.
pub const LEN: usize = 12;

/// A base transport header.
#[doc(alias = "infiniband.bth")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// Transport and operation.
    #[doc(alias = "infiniband.bth.opcode")]
    pub opcode: Opcode,
    /// The responder should raise an event (SE).
    #[doc(alias = "infiniband.bth.se")]
    pub solicited_event: bool,
    /// Path migration state (M).
    #[doc(alias = "infiniband.bth.m")]
    pub migration_request: bool,
    /// Bytes of padding after the payload, 0 ..= 3.
    #[doc(alias = "infiniband.bth.padcnt")]
    pub pad_count: u8,
    /// Transport header version; 0 is the only one defined.
    #[doc(alias = "infiniband.bth.tver")]
    pub transport_version: u8,
    /// Partition key (`P_Key`).
    #[doc(alias = "infiniband.bth.p_key")]
    pub partition_key: u16,
    /// Forward explicit congestion notification (F) of InfiniBand; unused by RoCEv2, which uses the
    /// IP header's ECN.
    pub fecn: bool,
    /// Backward explicit congestion notification (B); set in CNPs.
    pub becn: bool,
    /// The destination queue pair: the only QPN in the header.
    #[doc(alias = "infiniband.bth.destqp")]
    pub dest_qpn: Qpn,
    /// The requester requests an acknowledgement (A).
    #[doc(alias = "infiniband.bth.a")]
    pub ack_request: bool,
    /// Packet sequence number.
    #[doc(alias = "infiniband.bth.psn")]
    pub psn: Psn,
}

impl Bth {
    /// The bits of FECN and BECN in the header's fifth byte.
    pub const MARKS: u8 = 0xc0;

    /// Reads the header.
    #[inline]
    #[must_use]
    pub const fn decode(bytes: &[u8; LEN]) -> Self {
        let &[opcode, flags, k0, k1, congestion, q0, q1, q2, ack, p0, p1, p2] = bytes;
        Self {
            opcode: Opcode(opcode),
            solicited_event: flags & 0x80 != 0,
            migration_request: flags & 0x40 != 0,
            pad_count: (flags >> 4) & 0x03,
            transport_version: flags & 0x0f,
            partition_key: u16::from_be_bytes([k0, k1]),
            fecn: congestion & 0x80 != 0,
            becn: congestion & 0x40 != 0,
            dest_qpn: Qpn::new(u32::from_be_bytes([0, q0, q1, q2])),
            ack_request: ack & 0x80 != 0,
            psn: Psn::new(u32::from_be_bytes([0, p0, p1, p2])),
        }
    }
}
