//! Frames leave a port, cross a link and arrive at the other end.

use super::Network;
use super::event::Event;
use super::id::{NodeId, PortId};
use super::packet::{Body, Ecn};
use super::packet_pool::PacketRef;
use super::picoseconds::Picoseconds;
use super::tap::{Direction, DropCause, Occurrence, TapSink};

impl Network {
    /// Sends the next frame of a port if there is one and the port is free. Call it after queueing
    /// something.
    pub(super) fn send_next(&mut self, index: u32, taps: &mut dyn TapSink) {
        let port = &mut self.ports[index as usize];
        if port.look_planned {
            return;
        }
        if self.now < port.busy_until {
            port.look_planned = true;
            self.events.push(port.busy_until, Event::PortFree { port: index });
            return;
        }
        let node = port.node;
        let next = match node {
            NodeId::Switch(_) => self.next_of_switch(index),
            NodeId::Nic(nic) => self.next_of_nic(nic.0, index),
        };
        let Some(reference) = next else { return };
        let slot = self.pool.get(reference);
        let (ingress, priority) = (slot.ingress, slot.priority);
        let frame_bytes = slot.packet.frame_bytes;
        let is_pause = matches!(slot.packet.body, Body::Pause { .. });
        self.transmit(index, reference, taps);
        let port = &self.ports[index as usize];
        let sendable = match node {
            NodeId::Switch(_) => port.waiting & !port.paused.set,
            NodeId::Nic(nic) => self.nics[nic.0 as usize].sendable(port),
        };
        let port = &mut self.ports[index as usize];
        if sendable != 0 || !port.pauses.is_empty() {
            port.look_planned = true;
            self.events.push(port.busy_until, Event::PortFree { port: index });
        }
        if let NodeId::Switch(switch) = node
            && !is_pause
        {
            self.release(switch.0, ingress, priority, frame_bytes, taps);
        }
    }

    /// A port has finished sending and checks for the next frame.
    pub(super) fn port_free(&mut self, index: u32, taps: &mut dyn TapSink) {
        self.ports[index as usize].look_planned = false;
        self.send_next(index, taps);
    }

    fn transmit(&mut self, index: u32, reference: PacketRef, taps: &mut dyn TapSink) {
        let port = &mut self.ports[index as usize];
        let packet = &mut self.pool.get_mut(reference).packet;
        if !matches!(packet.body, Body::Pause { .. }) {
            if port.effects.clears_ect {
                packet.ecn = Ecn::NotEct;
            }
            if let Some(dscp) = port.effects.dscp {
                packet.dscp = dscp;
            }
        }
        port.counters.frames_sent += 1;
        port.counters.bytes_sent += u64::from(packet.frame_bytes);
        if let Some(tap) = port.tap {
            taps.packet(tap, self.now.virtual_time(), Direction::Out, packet);
        }
        port.busy_until = self.now.after(port.occupation(packet.frame_bytes));
        let mut arrival = self.now.after(port.transmission(packet.frame_bytes)).after(port.delay);
        if let Some((share, by_ns)) = port.effects.delay
            && self.chance.f64() < share
        {
            arrival = arrival.after(Picoseconds::of_nanoseconds(by_ns));
        }
        self.events.push(arrival, Event::Arrival { port: index ^ 1, packet: reference });
    }

    /// The last bit of a frame reaches the end of the link.
    pub(super) fn arrive(&mut self, index: u32, reference: PacketRef, taps: &mut dyn TapSink) {
        self.hops += 1;
        let port = &mut self.ports[index as usize];
        let packet = &self.pool.get(reference).packet;
        let bytes = u64::from(packet.frame_bytes);
        let losses = port.effects.losses.iter().filter(|(of, _)| of.matches(packet));
        let chance = &mut self.chance;
        let lost = if !port.is_up() {
            Some(DropCause::LinkDown)
        } else if losses.map(|(_, share)| *share).any(|share| chance.f64() < share) {
            Some(DropCause::Loss)
        } else {
            None
        };
        if let Some(cause) = lost {
            port.counters.frames_lost += 1;
            port.counters.bytes_lost += bytes;
            return self.drop_packet(index, reference, cause, taps);
        }
        port.counters.frames_received += 1;
        port.counters.bytes_received += bytes;
        if let Some(tap) = port.tap {
            taps.packet(tap, self.now.virtual_time(), Direction::In, packet);
        }
        if let Body::Pause { priority, quanta } = packet.body {
            self.pool.remove(reference);
            return self.pause_received(index, priority, quanta, taps);
        }
        match port.node {
            NodeId::Switch(switch) => self.forward(switch.0, index, reference, taps),
            NodeId::Nic(nic) => self.receive(nic.0, index, reference, taps),
        }
    }

    /// Drops a frame that a node received but does not accept.
    pub(super) fn refuse(
        &mut self,
        ingress: u32,
        reference: PacketRef,
        cause: DropCause,
        taps: &mut dyn TapSink,
    ) {
        let counters = &mut self.ports[ingress as usize].counters;
        counters.frames_dropped += 1;
        counters.bytes_dropped += u64::from(self.pool.get(reference).packet.frame_bytes);
        self.drop_packet(ingress, reference, cause, taps);
    }

    fn drop_packet(
        &mut self,
        ingress: u32,
        reference: PacketRef,
        cause: DropCause,
        taps: &mut dyn TapSink,
    ) {
        let frame_bytes = self.pool.get(reference).packet.frame_bytes;
        let dropped = Occurrence::Dropped { ingress: PortId::at(ingress), cause, frame_bytes };
        taps.occurred(self.now.virtual_time(), dropped);
        self.pool.remove(reference);
    }
}
