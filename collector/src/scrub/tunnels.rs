//! What is around a frame: tunnels of the fabric, and mirror sessions. Their headers are kept as far as readers need
//! them. What follows is only believed if readers believe it, too: else bytes of a MAC address would pass for a
//! header.

use super::frame::{Draft, IPV4, IPV6, MPLS, Next};
use super::sums::put;

/// Most MPLS labels of a packet.
const LABELS: usize = 8;

/// Padding and a checksum may follow an IP packet in its frame.
const TRAILER: usize = 64;

const ETHERNET_IN_GRE: u16 = 0x6558;
const ERSPAN_I_II: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;

const GRE_CHECKSUM: u16 = 0x8000;
const GRE_KEY: u16 = 0x2000;
const GRE_SEQUENCE: u16 = 0x1000;

/// Lengths of mirror headers without a public layout, as `decode::tunnel::mirror` tries them.
const MIRROR_HEADERS: [usize; 4] = [22, 0, 8, 12];

/// Bits of ERSPAN II and III that are read: version, truncation and session; of III also the kind of frame, its
/// direction, and whether 8 bytes follow.
const ERSPAN_BITS: [u8; 12] = [0xf0, 0, 0x07, 0xff, 0, 0, 0, 0, 0, 0, 0x7c, 0x09];

impl Draft<'_> {
    pub(super) fn labels(&mut self, mut at: usize) -> Option<(usize, Next)> {
        let first = at;
        while self.byte(at + 2)? & 1 == 0 {
            at += 4;
            if at > first + 4 * LABELS {
                return self.stop(first);
            }
        }
        at += 4;
        // The last label does not say what follows, and some MAC addresses begin as IP does.
        match self.byte(at)? {
            _ if self.has_ip(at) => Some((at, Next::Inner)),
            0x45..=0x4f if self.fills(at, self.half(at + 2)?.into()) => {
                Some((at, Next::Type(IPV4)))
            }
            0x60..=0x6f if self.fills(at, 40 + usize::from(self.half(at + 4)?)) => {
                Some((at, Next::Type(IPV6)))
            }
            // A control word.
            0 if self.byte(at + 1)? == 0 => {
                put(self.out, at, [0; 4]);
                Some((at + 4, Next::Inner))
            }
            _ => Some((at, Next::Inner)),
        }
    }

    /// Whether a packet of this length ends where the frame does.
    fn fills(&self, at: usize, len: usize) -> bool {
        (at + len..=at + len + TRAILER).contains(&self.wire_len)
    }

    /// Whether Ethernet begins here, and then IP of the version that it names.
    fn has_ip(&self, at: usize) -> bool {
        let behind = if self.half(at + 12) == Some(0x8100) { at + 16 } else { at + 12 };
        match (self.half(behind), self.byte(behind + 2)) {
            (Some(IPV4), Some(first)) => first >> 4 == 4,
            (Some(IPV6), Some(first)) => first >> 4 == 6,
            _ => false,
        }
    }

    /// Only what is sure to be VXLAN: an identifier, and reserved bytes that are zero; or VXLAN-GPE, which says
    /// what follows.
    pub(super) fn vxlan(&mut self, at: usize) -> Option<(usize, Next)> {
        match self.bytes::<8>(at) {
            Some([0x08, 0, 0, 0, .., 0] | [0x0c, 0, 0, 3, .., 0]) => Some((at + 8, Next::Inner)),
            Some([0x0c, 0, 0, 1, .., 0]) => Some((at + 8, Next::Type(IPV4))),
            Some([0x0c, 0, 0, 2, .., 0]) => Some((at + 8, Next::Type(IPV6))),
            _ => self.stop(at),
        }
    }

    /// Only what is sure to be Geneve: version 0, reserved bits that are zero, and a known content.
    pub(super) fn geneve(&mut self, at: usize) -> Option<(usize, Next)> {
        let Some([words, flags, k0, k1, .., 0]) = self.bytes::<8>(at) else {
            return self.stop(at);
        };
        let next = match u16::from_be_bytes([k0, k1]) {
            ETHERNET_IN_GRE => Next::Inner,
            kind @ (IPV4 | IPV6) => Next::Type(kind),
            _ => return self.stop(at),
        };
        if words >> 6 != 0 || flags & 0x3f != 0 {
            return self.stop(at);
        }
        let behind = at + 8 + 4 * usize::from(words);
        // Options may hold anything.
        self.out.iter_mut().take(behind).skip(at + 8).for_each(|byte| *byte = 0);
        Some((behind, next))
    }

    pub(super) fn routing_encapsulation(&mut self, at: usize) -> Option<(usize, Next)> {
        let (flags, kind) = (self.half(at)?, self.half(at + 2)?);
        // Source routes and PPTP are not read.
        if flags & !(GRE_CHECKSUM | GRE_KEY | GRE_SEQUENCE) != 0 {
            return self.stop(at);
        }
        let has = |bit: u16| usize::from(flags & bit != 0) * 4;
        let behind = at + 4 + has(GRE_CHECKSUM) + has(GRE_KEY) + has(GRE_SEQUENCE);
        self.byte(behind - 1)?;
        // It is a sum of what was there before.
        if flags & GRE_CHECKSUM != 0 {
            put(self.out, at + 4, [0; 4]);
        }
        let has_sequence = flags & GRE_SEQUENCE != 0;
        match kind {
            ETHERNET_IN_GRE => Some((behind, Next::Inner)),
            ERSPAN_I_II if !has_sequence => Some((behind, Next::Inner)),
            ERSPAN_I_II | ERSPAN_III => self.mirror_session(behind, has_sequence),
            IPV4 | IPV6 => Some((behind, Next::Type(kind))),
            kind if MPLS.contains(&kind) => self.labels(behind),
            _ => match MIRROR_HEADERS.into_iter().find(|len| self.has_ip(behind + len)) {
                Some(len) => {
                    self.out.iter_mut().skip(behind).take(len).for_each(|byte| *byte = 0);
                    Some((behind + len, Next::Inner))
                }
                // Its key may be anything.
                None => self.stop(at + 4),
            },
        }
    }

    /// ERSPAN II or III, by its version.
    fn mirror_session(&mut self, at: usize, has_sequence: bool) -> Option<(usize, Next)> {
        let (len, kind) = match self.byte(at)? >> 4 {
            1 if has_sequence => (8, 0),
            2 => {
                let [kind, flags] = self.bytes(at + 10)?;
                (12 + 8 * usize::from(flags & 1), kind >> 2 & 0x1f)
            }
            _ => return self.stop(at),
        };
        let behind = at + len;
        self.byte(behind - 1)?;
        let bits = ERSPAN_BITS.into_iter().take(len).chain(std::iter::repeat(0));
        for (byte, bits) in self.out.iter_mut().take(behind).skip(at).zip(bits) {
            *byte &= bits;
        }
        match (kind, self.byte(behind)? >> 4) {
            (0, _) => Some((behind, Next::Inner)),
            (2, 4) => Some((behind, Next::Type(IPV4))),
            (2, 6) => Some((behind, Next::Type(IPV6))),
            _ => self.stop(at),
        }
    }
}
