//! A RoCEv2 packet: BTH, the extension headers that its opcode calls for, payload, ICRC.

use super::aeth::Aeth;
use super::atomic::{AtomicAckEth, AtomicEth};
use super::bth::Bth;
use super::deth::Deth;
use super::flush::Feth;
use super::immediate::{Ieth, Immediate};
use super::rdeth::Rdeth;
use super::reth::Reth;
use super::xrceth::Xrceth;

/// A RoCEv2 packet. A header that the opcode calls for and that is `None` was cut off; the
/// enclosing [`Packet::stop`](crate::decode::packet::Packet::stop) says by what.
#[derive(Clone, Copy, Debug)]
pub struct RocePacket<'a> {
    /// UDP source port: the entropy by which switches spread flows over paths.
    pub udp_source_port: u16,
    /// Base transport header.
    pub bth: Bth,
    /// RD only.
    pub rdeth: Option<Rdeth>,
    /// UD and RD requests.
    pub deth: Option<Deth>,
    /// XRC requests.
    pub xrceth: Option<Xrceth>,
    /// FLUSH.
    pub feth: Option<Feth>,
    /// First or only packet of a WRITE, READ request, FLUSH, ATOMIC WRITE.
    pub reth: Option<Reth>,
    /// Atomic requests.
    pub atomic: Option<AtomicEth>,
    /// ACKs, atomic ACKs, first, last and only READ responses.
    pub aeth: Option<Aeth>,
    /// Atomic ACKs.
    pub atomic_ack: Option<AtomicAckEth>,
    /// Operations with immediate data.
    pub immediate: Option<Immediate>,
    /// SENDs with invalidate.
    pub ieth: Option<Ieth>,
    /// The bytes of the payload that were kept, without padding and ICRC.
    pub payload: &'a [u8],
    /// Bytes of the payload on the wire, from the UDP length, without padding and ICRC.
    pub payload_len: u32,
    /// The kept bytes from the UDP header on: alike in every copy of the packet.
    pub after_ip: &'a [u8],
    /// The whole packet from the IP header to the ICRC; `None` when the frame was cut.
    pub whole: Option<&'a [u8]>,
}
