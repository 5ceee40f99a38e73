//! A switch: packets are received, stored, and sent by priority.
//!
//! A packet's buffer is freed when its transmission starts.

pub(super) mod buffer;
mod marking;

use fastrand::Rng;

use super::Network;
use super::packet::Ecn;
use super::packet_pool::PacketRef;
use super::pause::Reason;
use super::plan::{DscpMap, EcnMarking, PRIORITIES, PortId, SwitchPlan};
use super::tap::{DropCause, Occurrence, TapSink};
use buffer::Buffer;

/// A switch.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) buffer: Buffer,
    priorities: DscpMap,
    marking: [Option<EcnMarking>; PRIORITIES],
    /// Randomness of marking.
    chance: Rng,
}

impl Switch {
    pub(super) fn new(plan: &SwitchPlan, ports: usize, seed: u64) -> Self {
        Self {
            buffer: Buffer::new(plan.buffer_bytes, ports, plan.queues.map(|queue| queue.pfc)),
            priorities: plan.priorities,
            marking: plan.queues.map(|queue| queue.marking),
            chance: Rng::with_seed(seed),
        }
    }
}

impl Network {
    /// Stores a packet received on `ingress` for the port of its route.
    pub(super) fn forward(
        &mut self,
        index: u32,
        ingress: u32,
        reference: PacketRef,
        taps: &mut dyn TapSink,
    ) {
        let switch = &mut self.switches[index as usize];
        let slot = self.pool.get_mut(reference);
        let packet = &mut slot.packet;
        let Some(egress) = self.routing.next_port(index, packet.flow(), &self.ports) else {
            return self.refuse(ingress, reference, DropCause::NoRoute, taps);
        };
        let priority = switch.priorities.priority(packet.dscp);
        let bytes = u64::from(packet.frame_bytes);
        let admission = switch.buffer.admit(self.place[ingress as usize], priority, bytes);
        if !admission.stored {
            if admission.pause {
                self.ask_pause(ingress, priority, Reason::Full, taps);
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
            self.ask_pause(ingress, priority, Reason::Full, taps);
        }
        self.send_next(egress, taps);
    }

    /// The next frame for a port of a switch.
    pub(super) fn next_of_switch(&mut self, egress: u32) -> Option<PacketRef> {
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
    pub(super) fn release(
        &mut self,
        index: u32,
        ingress: u32,
        priority: u8,
        frame_bytes: u16,
        taps: &mut dyn TapSink,
    ) {
        let buffer = &mut self.switches[index as usize].buffer;
        if buffer.release(self.place[ingress as usize], priority, u64::from(frame_bytes)) {
            self.end_asking(ingress, priority, Reason::Full, taps);
        }
    }
}
