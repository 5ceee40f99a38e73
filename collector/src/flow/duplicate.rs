//! Packets that one tap saw twice: a mirror of both directions, or a capture on every interface.
//!
//! A copy has the same IPv4 identification and the same bytes after the IP header, and comes
//! sooner than any retransmission could: within half the smallest ACK round trip.

use crate::decode::roce::packet::RocePacket;
use crate::model::time::Timestamp;

/// Recent packets remembered per tap, a power of two: copies come within a few packets.
const CAPACITY: usize = 2048;

#[derive(Clone, Copy, Default)]
struct Fingerprint {
    /// A digest of the flow, the identification and the bytes after the IP header.
    digest: u64,
    time: Timestamp,
}

/// Recent packets of one tap.
pub struct Duplicates {
    recent: Box<[Fingerprint]>,
    count: u64,
}

impl Default for Duplicates {
    fn default() -> Self {
        Self { recent: vec![Fingerprint::default(); CAPACITY].into_boxed_slice(), count: 0 }
    }
}

impl Duplicates {
    /// Whether this packet was seen within the last `limit_ns`; remembers it if not.
    #[inline]
    pub fn is_copy(
        &mut self,
        flow: u32,
        identification: Option<u16>,
        roce: &RocePacket<'_>,
        time: Timestamp,
        limit_ns: u64,
    ) -> bool {
        let seed = u64::from(flow) << 32 | u64::from(identification.unwrap_or(0));
        let digest = digest(seed, roce.after_ip);
        let slot = &mut self.recent[(digest >> 32) as usize % CAPACITY];
        if slot.digest == digest && time.nanos_since(slot.time) < limit_ns {
            self.count += 1;
            return true;
        }
        *slot = Fingerprint { digest, time };
        false
    }

    /// Copies found.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
}

/// A 64-bit digest of the kept bytes. The headers and the end are what tells packets apart: all of
/// a header-only snap, both ends of a whole frame, whose ICRC covers the middle.
#[inline]
fn digest(seed: u64, bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = seed ^ (bytes.len() as u64).wrapping_mul(ODD);
    let mut mix = |chunk: &[u8; 8]| {
        let product = u128::from(state ^ u64::from_le_bytes(*chunk)) * u128::from(ODD);
        state = product as u64 ^ (product >> 64) as u64;
    };
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().take(6).for_each(&mut mix);
    if let Some(end) = bytes.last_chunk::<8>() {
        mix(end);
    }
    state
}
