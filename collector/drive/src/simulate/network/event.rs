//! The event queue, in order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::packet_pool::PacketRef;
use super::picoseconds::Picoseconds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The last bit of a packet reaches a port.
    Arrival { port: u32, packet: PacketRef },
    /// A port has sent a packet and may send another.
    PortFree { port: u32 },
    /// The memory of a slow host has accepted a packet.
    Drained { nic: u32, packet: PacketRef },
    /// A queue pair may send again.
    Paced { queue_pair: u32 },
    /// An ACK may be overdue.
    AckTimeout { queue_pair: u32 },
    /// A packet may have been missing for too long, at a NIC that places packets out of order.
    GapDue { queue_pair: u32 },
    /// A pause may have expired.
    PauseEnd { port: u32, priority: u8 },
    /// A pause must be renewed to last.
    PauseRenewal { port: u32, priority: u8 },
    /// A trouble begins or ends.
    TroubleTurn { trouble: u32 },
    /// A background flow sends a datagram.
    Datagram { flow: u32 },
    /// Switches have learned which links are up.
    Convergence,
    /// A timer of the job.
    Wake { token: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Picoseconds,
    /// Events at the same time run in the order they were scheduled.
    number: u64,
    event: Event,
}

impl Entry {
    const fn slot(&self) -> u64 {
        self.time.0 >> BUCKET_BITS
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, because a heap returns the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

/// A slot of the wheel is 2^11 ps, 2 ns: few events even in a large network.
const BUCKET_BITS: u32 = 11;

/// The wheel reaches 8 us ahead, longer than a frame and the delay of a link take.
const BUCKETS: u64 = 4096;

/// Future events: a timing wheel for near ones (Varghese and Lauck, SOSP 1987), and a heap for
/// distant ones, which are rare.
#[derive(Debug)]
pub(super) struct EventQueue {
    /// The current slot: all earlier slots are over.
    current: u64,
    /// Events of the current slot, the next one last.
    now: Vec<Entry>,
    /// Later slots, by the low bits of their numbers.
    wheel: Vec<Vec<Entry>>,
    /// Vectors of past slots, for reuse: their memory is still in the cache.
    spare: Vec<Vec<Entry>>,
    /// Which slots of the wheel have events.
    occupied: [u64; BUCKETS as usize / 64],
    /// Events beyond the wheel when they were scheduled.
    far: BinaryHeap<Entry>,
    planned: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            current: 0,
            now: Vec::new(),
            wheel: (0..BUCKETS).map(|_| Vec::new()).collect(),
            spare: Vec::new(),
            occupied: [0; BUCKETS as usize / 64],
            far: BinaryHeap::new(),
            planned: 0,
        }
    }
}

impl EventQueue {
    /// Schedules `event`, not before the last event taken.
    pub(super) fn push(&mut self, time: Picoseconds, event: Event) {
        let entry = Entry { time, number: self.planned, event };
        self.planned += 1;
        let slot = entry.slot();
        if slot <= self.current {
            let place = self.now.partition_point(|later| *later < entry);
            self.now.insert(place, entry);
        } else if slot - self.current < BUCKETS {
            let bucket = (slot % BUCKETS) as usize;
            let entries = &mut self.wheel[bucket];
            if entries.capacity() == 0 {
                *entries = self.spare.pop().unwrap_or_default();
            }
            entries.push(entry);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else {
            self.far.push(entry);
        }
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<(Picoseconds, Event)> {
        if self.now.is_empty() {
            self.turn_wheel()?;
        }
        self.now.pop().map(|entry| (entry.time, entry.event))
    }

    /// Advances to the next slot with events.
    fn turn_wheel(&mut self) -> Option<()> {
        let far = self.far.peek().map(Entry::slot);
        let near = self.next_occupied();
        self.current = match (near, far) {
            (Some(near), Some(far)) => near.min(far),
            (near, far) => near.or(far)?,
        };
        let bucket = (self.current % BUCKETS) as usize;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        let entries = std::mem::take(&mut self.wheel[bucket]);
        self.spare.push(std::mem::replace(&mut self.now, entries));
        while self.far.peek().is_some_and(|entry| entry.slot() <= self.current) {
            self.now.extend(self.far.pop());
        }
        self.now.sort_unstable();
        Some(())
    }

    /// The first slot of the wheel with events.
    fn next_occupied(&self) -> Option<u64> {
        let words = self.occupied.len() as u64;
        let from = self.current + 1;
        // The word that contains `from` comes first, with its later bits, and last, with its
        // earlier ones.
        (0..=words).find_map(|turn| {
            let word = (from / 64 + turn) % words;
            let mut bits = self.occupied[word as usize];
            let below = (1_u64 << (from % 64)) - 1;
            if turn == 0 {
                bits &= !below;
            } else if turn == words {
                bits &= below;
            }
            let slot = (from / 64 + turn) * 64 + u64::from(bits.trailing_zeros());
            (bits != 0).then_some(slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Event, EventQueue, Picoseconds};

    fn delay() -> impl Strategy<Value = u64> {
        prop_oneof![0_u64..10, 0_u64..20_000, 0_u64..10_000_000, 0_u64..1_000_000_000]
    }

    proptest! {
        /// Compared with a sorted set: earlier first, ties in scheduling order, whatever is pushed
        /// in between.
        #[test]
        fn earlier_first_and_ties_as_planned(
            moves in prop::collection::vec((delay(), 0_u32..3), 0..400)
        ) {
            let mut queue = EventQueue::default();
            let mut expected = BTreeSet::new();
            let mut now = 0;
            let check = |queue: &mut EventQueue, expected: &mut BTreeSet<(u64, u64)>| {
                let next = expected.pop_first();
                let event = next.map(|(time, token)| (Picoseconds(time), Event::Wake { token }));
                assert_eq!(queue.pop(), event);
                next.map(|(time, _)| time)
            };
            for (token, (delay, pops)) in (0_u64..).zip(moves) {
                queue.push(Picoseconds(now + delay), Event::Wake { token });
                expected.insert((now + delay, token));
                for _ in 0..pops / 2 {
                    now = check(&mut queue, &mut expected).unwrap_or(now);
                }
            }
            while check(&mut queue, &mut expected).is_some() {}
        }
    }
}
