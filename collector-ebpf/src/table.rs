//! Where the packet programs keep what they know between packets: a table of sets of four places, as in
//! a CPU's cache. The key says in which set its value lies, so that finding it takes no call of the
//! kernel's, whose hash map would cost more than all else that is done for a packet.
//!
//! Nothing locks a set. Packets of one flow come one after the other, so that CPUs meet in one only where
//! a new flow takes the place of another: then that other one's packets of these nanoseconds may count
//! for the new one, or a key be mixed of two, whose place then lies waste until it is silent.

use bytemuck::{Pod, Zeroable};

/// An address in network order; IPv4 as an IPv4-mapped IPv6 address.
pub type Address = [u32; 4];

/// What identifies a value: one direction between two addresses at one interface, and the ends there.
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

    /// In which of 2^`bits` sets it lies.
    #[inline(always)]
    #[must_use]
    pub fn set(&self, bits: u32) -> u32 {
        let [a, b, c, d] = self.addresses;
        // Odd numbers without a pattern, of the golden ratio: products of them scatter.
        let mixed = (b ^ a.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed =
            (mixed ^ mixed >> 32 ^ d ^ c.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 32 ^ self.ends).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (64 - bits)) as u32
    }
}

/// What a table holds.
pub trait Value {
    /// Whether it may make room for another at this time, in nanoseconds.
    fn may_go(&mut self, now: u64) -> bool;
}

/// Places in a set.
pub const WAYS: usize = 4;

/// A set of a table.
#[repr(C)]
#[derive(Zeroable)]
pub struct Set<T> {
    places: [Place<T>; WAYS],
}

#[repr(C)]
#[derive(Zeroable)]
struct Place<T> {
    /// All zeros: the place is free.
    key: Key,
    value: T,
}

/// What became of a new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is in the table.
    Kept,
    /// All its places are in use.
    Refused,
}

impl<T: Value> Set<T> {
    /// The value of this key.
    #[inline(always)]
    pub fn find(&mut self, key: &Key) -> Option<&mut T> {
        self.places.iter_mut().find(|place| place.key.is(key)).map(|place| &mut place.value)
    }

    /// Keeps the value of a key that is not there.
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
