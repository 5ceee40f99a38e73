//! Packets in the network and queues of them, without an allocation per hop.

use super::packet::Packet;

/// A packet in a [`PacketPool`], from [`PacketPool::add`] until [`PacketPool::remove`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PacketRef(u32);

/// A packet and where it is.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) packet: Packet,
    /// The port through which it entered the switch that stores it.
    pub(super) ingress: u32,
    /// Its priority there.
    pub(super) priority: u8,
    /// The next packet in its queue, or the next free slot.
    next: Option<PacketRef>,
}

/// All packets of the network. Slots are reused: there are as many as packets at the peak.
#[derive(Debug, Default)]
pub(super) struct PacketPool {
    slots: Vec<Slot>,
    free: Option<PacketRef>,
}

impl PacketPool {
    pub(super) fn add(&mut self, packet: Packet) -> PacketRef {
        let slot = Slot { packet, ingress: 0, priority: 0, next: None };
        if let Some(free) = self.free {
            self.free = std::mem::replace(self.get_mut(free), slot).next;
            return free;
        }
        self.slots.push(slot);
        PacketRef(self.slots.len() as u32 - 1)
    }

    /// Removes a packet, which must not be in a queue.
    pub(super) fn remove(&mut self, packet: PacketRef) {
        let free = self.free.replace(packet);
        self.get_mut(packet).next = free;
    }

    pub(super) fn get(&self, packet: PacketRef) -> &Slot {
        &self.slots[packet.0 as usize]
    }

    pub(super) fn get_mut(&mut self, packet: PacketRef) -> &mut Slot {
        &mut self.slots[packet.0 as usize]
    }
}

/// A queue of packets: first in, first out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fifo {
    /// The first and the last.
    ends: Option<(PacketRef, PacketRef)>,
    /// Bytes of all its frames.
    bytes: u64,
}

impl Fifo {
    pub(super) const fn is_empty(&self) -> bool {
        self.ends.is_none()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push(&mut self, packet: PacketRef, pool: &mut PacketPool) {
        let slot = pool.get_mut(packet);
        slot.next = None;
        self.bytes += u64::from(slot.packet.frame_bytes);
        self.ends = Some(match self.ends {
            Some((first, last)) => {
                pool.get_mut(last).next = Some(packet);
                (first, packet)
            }
            None => (packet, packet),
        });
    }

    pub(super) fn pop(&mut self, pool: &PacketPool) -> Option<PacketRef> {
        let (first, last) = self.ends?;
        let slot = pool.get(first);
        self.bytes -= u64::from(slot.packet.frame_bytes);
        self.ends = slot.next.map(|next| (next, last));
        Some(first)
    }
}
