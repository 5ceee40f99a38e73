//! What a switch does with packets: store, mark, send, release.

use crate::simulate::network::Network;
use crate::simulate::network::id::PortId;
use crate::simulate::network::packet::Ecn;
use crate::simulate::network::packet_pool::PacketRef;
use crate::simulate::network::port::PauseReason;
use crate::simulate::network::tap::{DropCause, Occurrence, TapSink};

impl Network {
    /// Stores a packet received on `ingress` for the port of its route.
    pub(in crate::simulate::network) fn forward(
        &mut self,
        index: u32,
        ingress: u32,
        reference: PacketRef,
        taps: &mut dyn TapSink,
    ) {
        let switch = &mut self.switches[index as usize];
        let slot = self.pool.get_mut(reference);
        let packet = &mut slot.packet;
        let number = packet.ip_identification;
        let Some(egress) = self.routing.next_port(index, packet.flow(), number, &self.ports) else {
            return self.refuse(ingress, reference, DropCause::NoRoute, taps);
        };
        let priority = switch.priorities.priority(packet.dscp);
        let bytes = u64::from(packet.frame_bytes);
        let admission = switch.buffer.admit(self.place[ingress as usize], priority, bytes);
        if !admission.stored {
            if admission.pause {
                self.ask_pause(ingress, priority, PauseReason::Full, taps);
            }
            return self.refuse(ingress, reference, DropCause::SwitchBuffer, taps);
        }
        packet.hops = packet.hops.saturating_add(1);
        slot.ingress = ingress;
        slot.priority = priority;
        let port = &mut self.ports[egress as usize];
        let queue_bytes = port.queue(priority).bytes();
        if let Some(marking) = &switch.marking[usize::from(priority)] {
            let marks = packet.ecn.is_capable() && {
                let probability = marking.probability(queue_bytes);
                probability > 0.0 && switch.chance.f64() < probability
            };
            if marks {
                packet.ecn = Ecn::Ce;
                port.counters.frames_marked += 1;
                let egress = PortId::at(egress);
                let marked = Occurrence::Marked { egress, priority, queue_bytes };
                taps.occurred(self.now.virtual_time(), marked);
            }
        }
        port.queue_mut(priority).push(reference, &mut self.pool);
        port.queue_changed(priority);
        if admission.pause {
            self.ask_pause(ingress, priority, PauseReason::Full, taps);
        }
        self.send_next(egress, taps);
    }

    /// The next frame for a port of a switch.
    pub(in crate::simulate::network) fn next_of_switch(
        &mut self,
        egress: u32,
    ) -> Option<PacketRef> {
        let port = &mut self.ports[egress as usize];
        if let Some(pause) = port.pauses.pop(&self.pool) {
            return Some(pause);
        }
        let priority = port.arbiter.choose(port.waiting & !port.paused.set)?;
        let reference = port.queue_mut(priority).pop(&self.pool)?;
        port.queue_changed(priority);
        port.arbiter.charge(priority, self.pool.get(reference).packet.frame_bytes);
        Some(reference)
    }

    /// Frees the buffer of a packet that switch `index` has started to send.
    pub(in crate::simulate::network) fn release(
        &mut self,
        index: u32,
        ingress: u32,
        priority: u8,
        frame_bytes: u16,
        taps: &mut dyn TapSink,
    ) {
        let buffer = &mut self.switches[index as usize].buffer;
        if buffer.release(self.place[ingress as usize], priority, u64::from(frame_bytes)) {
            self.end_asking(ingress, priority, PauseReason::Full, taps);
        }
    }
}
