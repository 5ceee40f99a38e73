//! State of the packet programs between packets: a set-associative table with four slots per set, like a
//! CPU cache. The key selects the set, so a lookup needs no helper call; the kernel's hash map would cost
//! more than the rest of the work for a packet.
//!
//! Sets have no lock. Packets of one flow come one after the other, so two CPUs use one slot only when a new
//! flow replaces another: then packets of the old one may count for the new one for some nanoseconds, or
//! two keys may mix; such a slot is unused until it times out.

use bytemuck::{Pod, Zeroable};

/// An address in network order; IPv4 as an IPv4-mapped IPv6 address.
pub type Address = [u32; 4];

/// The key of a value: one direction between two addresses at one interface, and its ports or QPN.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
pub struct Key {
    /// Source address and destination address.
    addresses: [u64; 4],
    /// Queue pair or ports, and above them the index of the interface, which is never 0.
    ends: u64,
}

impl Key {
    /// From the two addresses, a queue pair number or two ports, and the index of an interface, as in
    /// `if_nametoindex(3)`.
    #[inline(always)]
    #[must_use]
    pub fn new(source: Address, destination: Address, ends: u32, interface_index: u32) -> Self {
        let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Self {
            addresses: [
                pair(source[0], source[1]),
                pair(source[2], source[3]),
                pair(destination[0], destination[1]),
                pair(destination[2], destination[3]),
            ],
            ends: pair(ends, interface_index),
        }
    }

    /// Whether the two are the same: in one comparison, which the verifier follows more easily than five.
    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        let words = self.addresses.iter().zip(&other.addresses);
        words.fold(self.ends ^ other.ends, |differs, (one, two)| differs | (one ^ two)) == 0
    }

    /// Its set, of 2^`bits`.
    #[inline(always)]
    #[must_use]
    pub fn set(&self, bits: u32) -> u32 {
        let [a, b, c, d] = self.addresses;
        // Odd numbers without a pattern, from the golden ratio: their products scatter.
        let mixed = (b ^ a.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed =
            (mixed ^ mixed >> 32 ^ d ^ c.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32 ^ self.ends).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - bits)) as u32
    }
}

/// A value of a table.
pub trait Value {
    /// Whether it may be replaced by another at this time, in nanoseconds.
    fn may_go(&mut self, now: u64) -> bool;
}

/// Slots in a set.
pub const WAYS: usize = 4;

/// A set of a table.
#[repr(C)]
#[derive(Zeroable)]
pub struct Set<T> {
    places: [Slot<T>; WAYS],
}

#[repr(C)]
#[derive(Zeroable)]
struct Slot<T> {
    /// All zeros: the slot is free.
    key: Key,
    value: T,
}

/// Result of adding a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is in the table.
    Kept,
    /// All slots of its set are in use.
    Refused,
}

impl<T: Value> Set<T> {
    /// The value of this key.
    #[inline(always)]
    pub fn find(&mut self, key: &Key) -> Option<&mut T> {
        self.places.iter_mut().find(|place| place.key.is(key)).map(|place| &mut place.value)
    }

    /// Adds the value of a key that is not in the table.
    #[inline(always)]
    pub fn claim(&mut self, key: &Key, value: T, now: u64) -> Claim {
        for place in &mut self.places {
            if place.key.ends == 0 || place.value.may_go(now) {
                place.value = value;
                place.key = *key;
                return Claim::Kept;
            }
        }
        Claim::Refused
    }
}
