//! Traffic outside the jobs: datagrams at random intervals.

use super::Network;
use super::event::Event;
use super::packet::{Body, Packet};
use super::picoseconds::Picoseconds;
use super::tap::TapSink;
use crate::simulate::time::VirtualTime;

/// Ethernet, IPv4 or IPv6, UDP.
const HEADER_BYTES: [u16; 2] = [14 + 20 + 8, 14 + 40 + 8];

/// What a socket buffers while its NIC may not send; more is dropped.
const SOCKET_BYTES: u64 = 212_992;

impl Network {
    /// Plans the first datagram of each flow.
    pub(super) fn plan_background(&mut self) {
        for (index, source) in (0_u32..).zip(&mut self.background) {
            let first = Picoseconds::from(source.flow.span.from);
            let distance = source.distance(source.flow.payload_bytes);
            if source.flow.span.from < source.flow.span.until {
                self.events.push(first.after(distance), Event::Datagram { flow: index });
            }
        }
    }

    /// A background flow sends.
    pub(super) fn send_datagram(&mut self, index: u32, taps: &mut dyn TapSink) {
        let source = &mut self.background[index as usize];
        let flow = source.flow;
        if self.now >= flow.span.until.into() && flow.span.until < VirtualTime::NEVER {
            return;
        }
        let nic = &mut self.nics[flow.from.0 as usize];
        let frame_bytes = HEADER_BYTES[usize::from(nic.is_ipv6)] + flow.payload_bytes;
        let next = self.now.after(source.distance(frame_bytes));
        self.events.push(next, Event::Datagram { flow: index });
        let priority = nic.priorities.priority(flow.dscp);
        let index = nic.port;
        let port = &mut self.ports[index as usize];
        if port.queue(priority).bytes() + u64::from(frame_bytes) > SOCKET_BYTES {
            return;
        }
        let packet = self.pool.add(Packet {
            source: flow.from,
            destination: flow.to,
            body: Body::Datagram {
                udp_destination_port: flow.udp_destination_port,
                payload_bytes: flow.payload_bytes,
            },
            udp_source_port: flow.udp_source_port,
            ip_identification: nic.next_identification(),
            frame_bytes,
            dscp: flow.dscp,
            ecn: flow.ecn,
            hops: 0,
        });
        port.queue_mut(priority).push(packet, &mut self.pool);
        port.queue_changed(priority);
        self.send_next(index, taps);
    }
}
