//! Outgoing packets: those from one source port to one address leave in one system call.

use std::net::{IpAddr, Ipv4Addr};

use super::icrc::icrc;
use super::packet::Packet;

/// Most packets in a batch.
pub const BATCH: usize = 32;

/// Packets of one queue pair. Their memory is reused.
#[derive(Debug)]
pub struct Batch {
    from: IpAddr,
    to: IpAddr,
    source_port: u16,
    packets: Vec<Outgoing>,
    len: usize,
}

/// A packet, from the end of the UDP header on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// Bytes, including the ICRC.
    pub bytes: Vec<u8>,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Destination queue pair.
    pub qpn: u32,
    /// PSN, 24 bits; 0 for CNPs.
    pub psn: u32,
}

impl Default for Batch {
    fn default() -> Self {
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Self { from: nowhere, to: nowhere, source_port: 0, packets: Vec::new(), len: 0 }
    }
}

impl Batch {
    /// Empties the batch and sets its addresses and source port.
    pub fn begin(&mut self, from: IpAddr, to: IpAddr, source_port: u16) {
        (self.from, self.to, self.source_port, self.len) = (from, to, source_port, 0);
    }

    /// Source address.
    #[must_use]
    pub fn from(&self) -> IpAddr {
        self.from
    }

    /// Destination address.
    #[must_use]
    pub fn to(&self) -> IpAddr {
        self.to
    }

    /// UDP source port.
    #[must_use]
    pub fn source_port(&self) -> u16 {
        self.source_port
    }

    /// The packets, in order.
    #[must_use]
    pub fn packets(&self) -> &[Outgoing] {
        &self.packets[..self.len]
    }

    /// Whether the batch is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len >= BATCH
    }

    /// Encodes a packet and appends it.
    pub fn push(&mut self, packet: &Packet<'_>, traffic_class: u8) {
        let (from, to, source_port) = (self.from, self.to, self.source_port);
        let place = self.place();
        (place.traffic_class, place.qpn, place.psn) = (traffic_class, packet.qpn, packet.psn);
        packet.encode(&mut place.bytes);
        let crc = icrc(from, to, source_port, &place.bytes);
        place.bytes.extend_from_slice(&crc);
    }

    /// Moves a packet to the end; the caller keeps memory to reuse.
    pub fn move_in(&mut self, packet: &mut Outgoing) {
        let place = self.place();
        std::mem::swap(place, packet);
    }

    /// The packets, to change or move.
    pub fn packets_mut(&mut self) -> &mut [Outgoing] {
        &mut self.packets[..self.len]
    }

    /// The next slot, with an empty packet.
    fn place(&mut self) -> &mut Outgoing {
        if self.len == self.packets.len() {
            self.packets.push(Outgoing::default());
        }
        self.len += 1;
        let place = &mut self.packets[self.len - 1];
        place.bytes.clear();
        place
    }
}
