//! A RoCEv2 packet: BTH, the extension headers that its opcode calls for, payload, ICRC.

use super::aeth::{self, Aeth};
use super::atomic::{self, AtomicAckEth, AtomicEth};
use super::bth::Bth;
use super::deth::{self, Deth};
use super::flush::{self, Feth};
use super::icrc;
use super::immediate::{self, Ieth, Immediate};
use super::mad::Mad;
use super::rdeth::{self, Rdeth};
use super::reth::{self, Reth};
use super::xrceth::{self, Xrceth};
use crate::decode::cursor::{Cursor, saturate};
use crate::decode::error::{DecodeError, Layer};
use crate::model::opcode::{Opcode, Traits};
use crate::model::qpn::Qpn;

const UD_SEND_ONLY: u8 = 0x64;

/// Bytes of the ICRC, which ends the packet.
const ICRC_LEN: usize = 4;

/// A RoCEv2 packet. A header that the opcode calls for and that is `None` was cut off; the
/// enclosing [`Packet::stop`](crate::decode::packet::Packet::stop) says by what.
#[derive(Clone, Copy, Debug)]
pub struct RocePacket<'a> {
    /// UDP source port: the entropy by which switches spread flows over paths; 0 for RoCE v1 and
    /// InfiniBand, which have none.
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
    /// The original value, in an atomic response.
    pub atomic_ack: Option<AtomicAckEth>,
    /// Operations with immediate data.
    pub immediate: Option<Immediate>,
    /// SENDs with invalidate.
    pub ieth: Option<Ieth>,
    /// The bytes of the payload that were kept, without padding and ICRC.
    pub payload: &'a [u8],
    /// Bytes of the payload on the wire, from the UDP length, without padding and ICRC.
    /// For a CNP, its 16 reserved bytes.
    pub payload_len: u32,
    /// Where the payload starts, in bytes from the start of the frame; 0 when a header before it
    /// was cut off.
    pub payload_offset: u32,
    /// The kept bytes from the UDP header on: alike in every copy of the packet.
    pub after_ip: &'a [u8],
    /// The whole packet from the IP header to the ICRC; `None` when the frame was cut.
    pub whole: Option<&'a [u8]>,
}

impl<'a> RocePacket<'a> {
    /// A packet of which only the BTH was read. `whole` is from the IP header on.
    #[inline(always)]
    pub(in crate::decode) const fn with_bth(
        bth: Bth,
        udp_source_port: u16,
        after_ip: &'a [u8],
        whole: Option<&'a [u8]>,
    ) -> Self {
        Self {
            udp_source_port,
            bth,
            rdeth: None,
            deth: None,
            xrceth: None,
            feth: None,
            reth: None,
            atomic: None,
            aeth: None,
            atomic_ack: None,
            immediate: None,
            ieth: None,
            payload: &[],
            payload_len: 0,
            payload_offset: 0,
            after_ip,
            whole,
        }
    }

    /// The management datagram, if this packet carries one: a UD SEND to QP1.
    #[must_use]
    pub fn management(&self) -> Option<Result<Mad<'a>, DecodeError>> {
        let is_one = self.bth.opcode == Opcode(UD_SEND_ONLY) && self.bth.dest_qpn == Qpn::GSI;
        let (len, offset) = (self.payload_len as usize, self.payload_offset as usize);
        is_one.then(|| Mad::read(Cursor::of_payload(self.payload, len, offset)))
    }

    /// Whether the ICRC is right; `None` when the packet was cut.
    #[must_use]
    pub fn has_valid_icrc(&self) -> Option<bool> {
        self.whole.and_then(icrc::check)
    }

    /// Reads what follows the BTH.
    #[inline(always)]
    pub(in crate::decode) fn read_rest(
        &mut self,
        cursor: &mut Cursor<'a>,
    ) -> Result<(), DecodeError> {
        let traits = self.bth.opcode.traits();
        let trailer = usize::from(self.bth.pad_count).saturating_add(ICRC_LEN);
        if traits.has_any(EXTENSIONS) {
            let rest = cursor.len();
            if let Err(cut) = self.read_extensions(traits, cursor) {
                let payload_len =
                    rest.saturating_sub(extensions_len(traits)).saturating_sub(trailer);
                self.payload_len = saturate(payload_len);
                return Err(cut);
            }
        }
        self.payload_offset = saturate(cursor.offset());
        let Some(payload_len) = cursor.len().checked_sub(trailer) else {
            return Err(cursor.too_short(Layer::Icrc, trailer));
        };
        self.payload_len = saturate(payload_len);
        self.payload = cursor.bytes().get(..payload_len).unwrap_or(cursor.bytes());
        Ok(())
    }

    /// Reads the extension headers in the order that the specification gives them.
    #[inline(always)]
    fn read_extensions(
        &mut self,
        traits: Traits,
        cursor: &mut Cursor<'a>,
    ) -> Result<(), DecodeError> {
        if traits.has(Traits::RDETH) {
            self.rdeth = Some(Rdeth::decode(cursor.take(Layer::Rdeth)?));
        }
        if traits.has(Traits::DETH) {
            self.deth = Some(Deth::decode(cursor.take(Layer::Deth)?));
        }
        if traits.has(Traits::XRCETH) {
            self.xrceth = Some(Xrceth::decode(cursor.take(Layer::Xrceth)?));
        }
        if traits.has(Traits::FETH) {
            self.feth = Some(Feth::decode(cursor.take(Layer::Feth)?));
        }
        if traits.has(Traits::RETH) {
            self.reth = Some(Reth::decode(cursor.take(Layer::Reth)?));
        }
        if traits.has(Traits::ATOMIC_ETH) {
            self.atomic = Some(AtomicEth::decode(cursor.take(Layer::AtomicEth)?));
        }
        if traits.has(Traits::AETH) {
            self.aeth = Some(Aeth::decode(cursor.take(Layer::Aeth)?));
        }
        if traits.has(Traits::ATOMIC_ACK_ETH) {
            self.atomic_ack = Some(AtomicAckEth::decode(cursor.take(Layer::AtomicAckEth)?));
        }
        if traits.has(Traits::IMMEDIATE) {
            self.immediate = Some(Immediate::decode(cursor.take(Layer::ImmDt)?));
        }
        if traits.has(Traits::IETH) {
            self.ieth = Some(Ieth::decode(cursor.take(Layer::Ieth)?));
        }
        Ok(())
    }
}

const LENGTHS: [(Traits, usize); 10] = [
    (Traits::RDETH, rdeth::LEN),
    (Traits::DETH, deth::LEN),
    (Traits::XRCETH, xrceth::LEN),
    (Traits::FETH, flush::LEN),
    (Traits::RETH, reth::LEN),
    (Traits::ATOMIC_ETH, atomic::LEN),
    (Traits::AETH, aeth::LEN),
    (Traits::ATOMIC_ACK_ETH, atomic::ACK_LEN),
    (Traits::IMMEDIATE, immediate::LEN),
    (Traits::IETH, immediate::LEN),
];

/// All extension headers.
const EXTENSIONS: Traits = Traits::RDETH
    .with(Traits::DETH)
    .with(Traits::XRCETH)
    .with(Traits::FETH)
    .with(Traits::RETH)
    .with(Traits::ATOMIC_ETH)
    .with(Traits::AETH)
    .with(Traits::ATOMIC_ACK_ETH)
    .with(Traits::IMMEDIATE)
    .with(Traits::IETH);

/// Bytes of all extension headers that an opcode calls for, also of those that were cut off.
fn extensions_len(traits: Traits) -> usize {
    LENGTHS.iter().filter(|(header, _)| traits.has(*header)).map(|(_, len)| len).sum()
}
