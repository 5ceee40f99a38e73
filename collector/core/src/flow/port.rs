//! Ports: the addresses that send and receive at a tap, each with a burst meter per direction.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::burst::{BucketMarks, BurstMeter};
use crate::model::address::{HostAddress, MacAddress};
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Ports metered; traffic of further ones is not metered, and counted.
const CAPACITY: usize = 65_536;

/// Place of a port in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortIndex(u32);

impl PortIndex {
    /// The port found no room.
    const NONE: Self = Self(u32::MAX);
}

/// One address at one tap.
#[derive(Clone, Debug)]
pub struct Port {
    /// The observation point.
    pub tap: TapId,
    /// Its IP address.
    pub address: HostAddress,
    /// Source address of its frames; `None` until it sent one with an Ethernet header.
    pub mac: Option<MacAddress>,
    /// It sends or receives RoCE.
    pub has_roce: bool,
    /// What it sends.
    pub sent: BurstMeter,
    /// What it receives.
    pub received: BurstMeter,
}

/// A frame as the two ports at its ends see it.
#[derive(Clone, Copy, Debug)]
pub struct PortTraffic {
    /// When it passed.
    pub time: Timestamp,
    /// Bytes with FCS, preamble and gap.
    pub bytes: u64,
    /// Packets among it with congestion experienced.
    pub ce_packets: u64,
}

/// The ports of all taps.
#[derive(Clone, Default)]
pub struct PortTable {
    ports: Vec<Port>,
    index: HashTable<u32>,
    hasher: RandomState,
    unmetered: u64,
}

impl PortTable {
    /// The place of the port with `address` at `tap`, which is made if it is new.
    pub fn find_or_insert(
        &mut self,
        tap: TapId,
        address: HostAddress,
        line_rate_bps: Option<u64>,
    ) -> PortIndex {
        let ports = &self.ports;
        let hash = self.hasher.hash_one((tap, address));
        let is_it = |at: &u32| {
            let port = &ports[*at as usize];
            port.address == address && port.tap == tap
        };
        if let Some(at) = self.index.find(hash, is_it) {
            return PortIndex(*at);
        }
        if self.ports.len() >= CAPACITY {
            return PortIndex::NONE;
        }
        let at = self.ports.len() as u32;
        self.ports.push(Port {
            tap,
            address,
            mac: None,
            has_roce: false,
            sent: BurstMeter::new(line_rate_bps),
            received: BurstMeter::new(line_rate_bps),
        });
        let (ports, hasher) = (&self.ports, &self.hasher);
        self.index.insert_unique(hash, at, |at| {
            let port = &ports[*at as usize];
            hasher.hash_one((port.tap, port.address))
        });
        PortIndex(at)
    }

    /// Notes what a new flow tells of its two ports.
    pub fn describe(&mut self, source: PortIndex, destination: PortIndex, mac: Option<MacAddress>) {
        if let Some(port) = self.ports.get_mut(source.0 as usize) {
            port.mac = port.mac.or(mac);
            port.has_roce = true;
        }
        if let Some(port) = self.ports.get_mut(destination.0 as usize) {
            port.has_roce = true;
        }
    }

    /// Meters a frame from `source` to `destination`; `marks` are those of its flow.
    #[inline]
    pub fn observe(
        &mut self,
        source: PortIndex,
        destination: PortIndex,
        traffic: &PortTraffic,
        marks: Option<&mut [BucketMarks; 2]>,
    ) {
        let PortTraffic { time, bytes, ce_packets } = *traffic;
        let (sender_marks, receiver_marks) = match marks {
            Some([sender, receiver]) => (Some(sender), Some(receiver)),
            None => (None, None),
        };
        match self.ports.get_mut(source.0 as usize) {
            Some(port) => port.sent.observe(time, bytes, ce_packets, sender_marks),
            None => self.unmetered += 1,
        }
        match self.ports.get_mut(destination.0 as usize) {
            Some(port) => port.received.observe(time, bytes, ce_packets, receiver_marks),
            None => self.unmetered += 1,
        }
    }

    /// The ports in the order in which they were met.
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    /// Frame ends that found no port.
    #[must_use]
    pub const fn unmetered(&self) -> u64 {
        self.unmetered
    }
}
