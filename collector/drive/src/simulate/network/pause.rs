//! Priority flow control: asking the neighbour to pause, and obeying its requests.
//!
//! A pause lasts for its quanta, so a port that needs a longer one repeats the request in time
//! (IEEE 802.1Q, clause 36).

use super::Network;
use super::event::Event;
use super::id::{NicId, PortId, PrioritySet};
use super::packet::{Body, Ecn, Packet};
use super::port::{PAUSE_QUANTA, PauseReason};
use super::tap::{Occurrence, TapSink};

/// Smallest Ethernet frame, without FCS.
const PAUSE_FRAME_BYTES: u16 = 60;

impl Network {
    /// Sends XOFF, unless the port already requests this pause.
    pub(super) fn ask_pause(
        &mut self,
        index: u32,
        priority: u8,
        reason: PauseReason,
        taps: &mut dyn TapSink,
    ) {
        let bit = PrioritySet::only(priority).0;
        let asks = &mut self.ports[index as usize].asks;
        let asked = asks.set() & bit != 0;
        match reason {
            PauseReason::Full => asks.full |= bit,
            PauseReason::Storm => asks.storm |= bit,
        }
        if !asked {
            asks.since[usize::from(priority & 7)] = self.now;
            self.send_xoff(index, priority, taps);
        }
    }

    /// Sends XON, unless the port has another reason for the pause or requested none.
    pub(super) fn end_asking(
        &mut self,
        index: u32,
        priority: u8,
        reason: PauseReason,
        taps: &mut dyn TapSink,
    ) {
        let bit = PrioritySet::only(priority).0;
        let port = &mut self.ports[index as usize];
        let asked = port.asks.set() & bit != 0;
        match reason {
            PauseReason::Full => port.asks.full &= !bit,
            PauseReason::Storm => port.asks.storm &= !bit,
        }
        if asked && port.asks.set() & bit == 0 {
            let since = port.asks.since[usize::from(priority & 7)];
            port.counters.asked_pause_ns[usize::from(priority & 7)] +=
                self.now.since(since).0 / 1000;
            let stored_bytes = self.stored_from(index, priority);
            let ingress = PortId::at(index);
            taps.occurred(
                self.now.virtual_time(),
                Occurrence::Xon { ingress, priority, stored_bytes },
            );
            self.send_pause(index, priority, 0, taps);
        }
    }

    /// Renews a pause that is still needed, half way through.
    pub(super) fn renew_pause(&mut self, index: u32, priority: u8, taps: &mut dyn TapSink) {
        let bit = PrioritySet::only(priority).0;
        let asks = &mut self.ports[index as usize].asks;
        asks.renewal_planned &= !bit;
        if asks.set() & bit != 0 {
            self.send_xoff(index, priority, taps);
        }
    }

    fn send_xoff(&mut self, index: u32, priority: u8, taps: &mut dyn TapSink) {
        let bit = PrioritySet::only(priority).0;
        let port = &mut self.ports[index as usize];
        if port.asks.renewal_planned & bit == 0 {
            port.asks.renewal_planned |= bit;
            let renewal = self.now.after(port.pause(PAUSE_QUANTA / 2));
            self.events.push(renewal, Event::PauseRenewal { port: index, priority });
        }
        let stored_bytes = self.stored_from(index, priority);
        let ingress = PortId::at(index);
        taps.occurred(
            self.now.virtual_time(),
            Occurrence::Xoff { ingress, priority, stored_bytes },
        );
        self.send_pause(index, priority, PAUSE_QUANTA, taps);
    }

    fn send_pause(&mut self, index: u32, priority: u8, quanta: u16, taps: &mut dyn TapSink) {
        let pause = self.pool.add(Packet {
            source: NicId(0),
            destination: NicId(0),
            body: Body::Pause { priority, quanta },
            udp_source_port: 0,
            ip_identification: 0,
            frame_bytes: PAUSE_FRAME_BYTES,
            dscp: 0,
            ecn: Ecn::NotEct,
            hops: 0,
        });
        let port = &mut self.ports[index as usize];
        port.counters.pauses_sent[usize::from(priority & 7)] += 1;
        port.pauses.push(pause, &mut self.pool);
        self.send_next(index, taps);
    }

    /// The neighbour requests a pause, or ends it.
    pub(super) fn pause_received(
        &mut self,
        index: u32,
        priority: u8,
        quanta: u16,
        taps: &mut dyn TapSink,
    ) {
        let bit = PrioritySet::only(priority).0;
        let place = usize::from(priority & 7);
        let port = &mut self.ports[index as usize];
        port.counters.pauses_received[place] += 1;
        if !port.lossless.contains(priority) {
            return;
        }
        if quanta == 0 {
            return self.go_on(index, priority, taps);
        }
        if port.paused.set & bit == 0 {
            port.paused.set |= bit;
            port.paused.since[place] = self.now;
        }
        let until = self.now.after(port.pause(quanta));
        port.paused.until[place] = until;
        if port.paused.end_planned & bit == 0 {
            port.paused.end_planned |= bit;
            self.events.push(until, Event::PauseEnd { port: index, priority });
        }
    }

    /// A pause expires, unless it was renewed.
    pub(super) fn pause_end(&mut self, index: u32, priority: u8, taps: &mut dyn TapSink) {
        let bit = PrioritySet::only(priority).0;
        let paused = &mut self.ports[index as usize].paused;
        paused.end_planned &= !bit;
        let until = paused.until[usize::from(priority & 7)];
        if paused.set & bit != 0 && self.now < until {
            paused.end_planned |= bit;
            self.events.push(until, Event::PauseEnd { port: index, priority });
        } else {
            self.go_on(index, priority, taps);
        }
    }

    fn go_on(&mut self, index: u32, priority: u8, taps: &mut dyn TapSink) {
        let bit = PrioritySet::only(priority).0;
        let place = usize::from(priority & 7);
        let port = &mut self.ports[index as usize];
        if port.paused.set & bit != 0 {
            port.paused.set &= !bit;
            port.counters.paused_ns[place] += self.now.since(port.paused.since[place]).0 / 1000;
            port.counters.pauses_over[place] += 1;
            self.send_next(index, taps);
        }
    }

    /// A link has lost its signal: pauses end, and a port that still has a reason repeats its
    /// request once the link is back.
    pub(super) fn forget_pauses(&mut self, index: u32, taps: &mut dyn TapSink) {
        for priority in 0..8 {
            self.go_on(index, priority, taps);
        }
    }
}
