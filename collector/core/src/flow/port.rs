//! Ports: the addresses that send and receive at a tap, each with a burst meter per direction.

use std::hash::BuildHasher;
use std::num::NonZero;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use super::burst::{BucketMarks, BurstMeter};
use crate::model::address::{HostAddress, MacAddress};
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Most metered ports; traffic of further ones is only counted.
const CAPACITY: usize = 65_536;

/// Index of a port in the table, counted from 1, so that an `Option` of it takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortIndex(NonZero<u32>);

/// Ports that were in a table before those of another came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortOffset(u32);

impl PortIndex {
    /// The same port in the table that took it over.
    pub(super) const fn after(self, offset: PortOffset) -> Self {
        Self(self.0.saturating_add(offset.0))
    }

    const fn of(place: u32) -> Self {
        Self(NonZero::<u32>::MIN.saturating_add(place))
    }

    const fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// One address at one tap.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MeteredPort {
    /// The observation point.
    pub tap: TapId,
    /// Its IP address.
    pub address: HostAddress,
    /// Source MAC address; `None` before its first frame with an Ethernet header.
    pub mac: Option<MacAddress>,
    /// Whether it sends or receives RoCE.
    pub has_roce: bool,
    /// Outgoing traffic.
    pub sent: BurstMeter,
    /// Incoming traffic.
    pub received: BurstMeter,
}

/// A frame as seen by the ports at both ends.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct PortTraffic {
    /// When it passed.
    pub time: Timestamp,
    /// Bytes with FCS, preamble and gap.
    pub bytes: u64,
    /// Number of CE-marked packets in it.
    pub ce_packets: u64,
}

/// The ports of all taps. A table that was written and read takes no more of them.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct PortTable {
    ports: Vec<MeteredPort>,
    #[serde(skip)]
    index: HashTable<u32>,
    #[serde(skip)]
    hasher: RandomState,
    unmetered: u64,
}

impl PortTable {
    /// The index of the port with `address` at `tap`, which is added if it is new; `None` if the
    /// table is full.
    pub fn find_or_insert(
        &mut self,
        tap: TapId,
        address: HostAddress,
        line_rate_bps: Option<u64>,
    ) -> Option<PortIndex> {
        let ports = &self.ports;
        let hash = self.hasher.hash_one((tap, address));
        let is_it = |at: &u32| {
            let port = &ports[*at as usize];
            port.address == address && port.tap == tap
        };
        if let Some(at) = self.index.find(hash, is_it) {
            return Some(PortIndex::of(*at));
        }
        if self.ports.len() >= CAPACITY {
            return None;
        }
        let at = self.ports.len() as u32;
        self.ports.push(MeteredPort {
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
        Some(PortIndex::of(at))
    }

    /// Records what a new flow reveals about its two ports.
    pub fn describe(
        &mut self,
        source: Option<PortIndex>,
        destination: Option<PortIndex>,
        mac: Option<MacAddress>,
    ) {
        if let Some(port) = self.port_mut(source) {
            port.mac = port.mac.or(mac);
            port.has_roce = true;
        }
        if let Some(port) = self.port_mut(destination) {
            port.has_roce = true;
        }
    }

    /// Meters a frame from `source` to `destination`; `marks` belong to its flow.
    #[inline]
    pub fn observe(
        &mut self,
        source: Option<PortIndex>,
        destination: Option<PortIndex>,
        traffic: &PortTraffic,
        marks: Option<&mut [BucketMarks; 2]>,
    ) {
        let PortTraffic { time, bytes, ce_packets } = *traffic;
        let (sender_marks, receiver_marks) = match marks {
            Some([sender, receiver]) => (Some(sender), Some(receiver)),
            None => (None, None),
        };
        match self.port_mut(source) {
            Some(port) => port.sent.observe(time, bytes, ce_packets, sender_marks),
            None => self.unmetered += 1,
        }
        match self.port_mut(destination) {
            Some(port) => port.received.observe(time, bytes, ce_packets, receiver_marks),
            None => self.unmetered += 1,
        }
    }

    /// Takes over the ports of `other`, whose tap n is `taps[n]` here; returns how many were there before.
    /// They cannot be found by address.
    pub(super) fn join(&mut self, other: Self, taps: &[TapId]) -> PortOffset {
        let offset = self.ports.len() as u32;
        self.ports.extend(other.ports.into_iter().map(|mut port| {
            port.tap = port.tap.among(taps);
            port
        }));
        self.unmetered += other.unmetered;
        PortOffset(offset)
    }

    /// Whether there is a port with this index.
    pub(super) fn has(&self, index: PortIndex) -> bool {
        index.place() < self.ports.len()
    }

    #[inline]
    fn port_mut(&mut self, index: Option<PortIndex>) -> Option<&mut MeteredPort> {
        self.ports.get_mut(index?.place())
    }

    /// Begins an interval of all meters: see [`BurstMeter::begin_interval`].
    pub fn begin_interval(&mut self) {
        for port in &mut self.ports {
            port.sent.begin_interval();
            port.received.begin_interval();
        }
    }

    /// The ports in order of first appearance.
    #[must_use]
    pub fn ports(&self) -> &[MeteredPort] {
        &self.ports
    }

    /// Frame ends without a port.
    #[must_use]
    pub const fn unmetered(&self) -> u64 {
        self.unmetered
    }
}
