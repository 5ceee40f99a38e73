//! Packets that one tap saw twice: a mirror of both directions, or a capture on every interface.
//!
//! A copy has the same IPv4 identification and the same bytes after the IP header, and arrives
//! sooner than any retransmission could: within half the smallest ACK round trip. CNPs are all
//! alike and may follow each other closely: they need distinct identifications.

use super::key::FlowKey;
use crate::decode::roce::packet::RocePacket;
use crate::model::opcode::Opcode;
use crate::model::time::Timestamp;

/// Recent packets kept at first, over all taps, a power of two: of one flow, 170 us at 400 Gb/s and an MTU of 4 KiB.
/// Copies arrive within a few packets.
const LEAST: usize = 2048;

/// Recent packets kept for each flow: of more flows, more send at the same time. A thousand captures of few flows
/// each would take 128 KiB each with [`MOST`].
const OF_A_FLOW: usize = 4;

/// Most recent packets kept, a power of two.
const MOST: usize = 8192;

/// How a packet is recognised.
#[derive(Clone, Copy, Default)]
struct Fingerprint {
    digest: u64,
    time: Timestamp,
}

/// Recent packets of all taps: a flow belongs to one tap, so packets of other taps never match.
#[derive(Clone)]
pub struct Duplicates {
    /// Its length is a power of two.
    recent: Vec<Fingerprint>,
}

impl Default for Duplicates {
    fn default() -> Self {
        Self { recent: vec![Fingerprint::default(); LEAST] }
    }
}

impl Duplicates {
    /// Makes room for the packets of so many flows.
    pub fn make_room(&mut self, flows: usize) {
        while self.recent.len() < flows.saturating_mul(OF_A_FLOW).min(MOST) {
            // A place of twice as many is the same place or the one as far in the other half.
            self.recent.extend_from_within(..);
        }
    }

    /// Whether this packet was seen within the last `limit_ns`; records it if not.
    #[inline]
    pub fn is_copy(
        &mut self,
        flow: u32,
        key: &FlowKey,
        identification: Option<u16>,
        roce: &RocePacket<'_>,
        time: Timestamp,
        limit_ns: u64,
    ) -> bool {
        let identification = identification.unwrap_or(0);
        if identification == 0 && roce.bth.opcode == Opcode::CNP {
            return false;
        }
        // A flow table entry may have had another owner before.
        let owner = u64::from(key.source.low_bits()) << 16 ^ u64::from(key.destination.low_bits());
        let packet = (u64::from(flow) << 32 | u64::from(identification)) ^ owner << 8;
        let digest = digest(packet, roce.after_ip);
        // Consecutive packets of a flow are adjacent.
        let place = flow.wrapping_mul(0x9e37_79b1).wrapping_add(roce.bth.psn.value());
        let last = self.recent.len() - 1;
        let slot = &mut self.recent[place as usize & last];
        if slot.digest == digest && time.nanos_since(slot.time) < limit_ns {
            return true;
        }
        *slot = Fingerprint { digest, time };
        false
    }
}

/// A 64-bit digest of the kept bytes from the UDP header on: BTH, the extension headers and the
/// end, which is payload if the frame was truncated and the ICRC otherwise.
///
/// Cost: 2 ns; a digest of all 94 bytes of a 128-byte snap took 10 of the 50 ns that a frame has.
#[inline]
fn digest(packet: u64, bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |word| u64::from_le_bytes(*word));
    let end = bytes.last_chunk::<8>().map_or(0, |end| u64::from_le_bytes(*end));
    let headers = fold(word(1) ^ packet, word(2) ^ 0x9e37_79b9_7f4a_7c15);
    let rest = fold(word(3) ^ 0xd1b5_4a32_d192_ed03, word(4) ^ end.rotate_left(32));
    fold(headers ^ end, rest ^ bytes.len() as u64)
}

/// Both halves of the product of two words, mixed.
#[inline]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_after_the_table_has_grown() {
        let mut duplicates = Duplicates::default();
        let digests = 1..=LEAST as u64;
        for (slot, digest) in duplicates.recent.iter_mut().zip(digests.clone()) {
            slot.digest = digest;
        }
        duplicates.make_room(MOST);
        assert_eq!(duplicates.recent.len(), MOST);
        let known = (0..MOST).map(|place| duplicates.recent[place].digest);
        assert!(known.eq(digests.cycle().take(MOST)), "at its place, whatever its higher bits are");
        duplicates.make_room(usize::MAX);
        assert_eq!(duplicates.recent.len(), MOST);
    }
}
