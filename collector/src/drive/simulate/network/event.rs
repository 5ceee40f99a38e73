//! What happens next: events in the order of their times.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::packet_pool::PacketRef;
use super::picoseconds::Picoseconds;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The last bit of a packet reaches a port.
    Arrival { port: u32, packet: PacketRef },
    /// A port has sent a packet, and may send another.
    PortFree { port: u32 },
    /// The memory of a slow host has taken a packet.
    Drained { nic: u32, packet: PacketRef },
    /// A queue pair may send again.
    Paced { queue_pair: u32 },
    /// An ACK may be overdue.
    AckTimeout { queue_pair: u32 },
    /// A pause may have run out.
    PauseEnd { port: u32, priority: u8 },
    /// A pause must be renewed if it shall last.
    PauseRenewal { port: u32, priority: u8 },
    /// A trouble begins or ends.
    TroubleTurn { trouble: u32 },
    /// A background flow sends a datagram.
    Datagram { flow: u32 },
    /// Switches have learnt which links are up.
    Convergence,
    /// The job wanted to be woken.
    Wake { token: u64 },
}

#[derive(Debug)]
struct Entry {
    time: Picoseconds,
    /// Events of one time happen in the order in which they were planned.
    number: u64,
    event: Event,
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
    /// The earliest is the greatest, which is what a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

/// Events to come.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    heap: BinaryHeap<Entry>,
    planned: u64,
}

impl EventQueue {
    /// Plans `event`.
    pub(super) fn push(&mut self, time: Picoseconds, event: Event) {
        self.heap.push(Entry { time, number: self.planned, event });
        self.planned += 1;
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<(Picoseconds, Event)> {
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Event, EventQueue, Picoseconds};

    proptest! {
        #[test]
        fn earlier_first_and_ties_as_planned(times in prop::collection::vec(0_u64..20, 0..200)) {
            let mut queue = EventQueue::default();
            for (token, &time) in (0..).zip(&times) {
                queue.push(Picoseconds(time), Event::Wake { token });
            }
            let mut expected: Vec<_> = times.iter().copied().zip(0_u64..).collect();
            expected.sort_unstable();
            for (time, token) in expected {
                prop_assert_eq!(queue.pop(), Some((Picoseconds(time), Event::Wake { token })));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
