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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bth {
    /// Transport and operation.
    pub opcode: Opcode,
    /// The responder should raise an event (SE).
    pub solicited_event: bool,
    /// Path migration state (M).
    pub migration_request: bool,
    /// Bytes of padding after the payload, 0 ..= 3.
    pub pad_count: u8,
    /// Transport header version; 0 is the only one defined.
    pub transport_version: u8,
    /// Partition key (P_Key).
    pub partition_key: u16,
    /// Forward explicit congestion notification (F); unused by RoCEv2, which has the IP header's.
    pub fecn: bool,
    /// Backward explicit congestion notification (B); set in CNPs.
    pub becn: bool,
    /// The queue pair that the packet goes to: the only QPN that the header has.
    pub dest_qpn: Qpn,
    /// The requester wants an acknowledgement (A).
    pub ack_request: bool,
    /// Packet sequence number.
    pub psn: Psn,
}
