//! Records of a sample, and the one with the header of the packet.

use super::Refusal;
use super::counters::{EthernetCounters, InterfaceCounters};
use super::xdr::Reader;

/// A record, still without meaning: flow samples and counter samples number their formats apart.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Who defined it; 0 is sflow.org.
    pub enterprise: u32,
    /// The format's number.
    pub format: u32,
    /// Its data.
    pub data: &'a [u8],
}

/// The records of a sample; the first error ends them.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: Reader<'a>,
    left: u32,
}

impl<'a> Records<'a> {
    pub(super) const fn new(rest: Reader<'a>, left: u32) -> Self {
        Self { rest, left }
    }

    fn read(&mut self) -> Result<Record<'a>, Refusal> {
        let format = self.rest.u32()?;
        let data = self.rest.opaque()?;
        Ok(Record { enterprise: format >> 12, format: format & 0xfff, data })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let record = self.read();
        if record.is_err() {
            self.left = 0;
        }
        Some(record)
    }
}

/// The first bytes of a sampled packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledHeader<'a> {
    /// What they begin with; 1 is Ethernet.
    pub protocol: u32,
    /// Bytes of the packet, with those that were stripped, the FCS among them.
    pub frame_length: u32,
    /// Bytes that are not part of the header and what follows it, the FCS among them.
    pub stripped: u32,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl SampledHeader<'_> {
    /// The protocol of Ethernet.
    pub const ETHERNET: u32 = 1;

    /// Bytes of the packet without what was stripped, so without FCS; at least those that were kept.
    #[must_use]
    pub fn wire_len(&self) -> u32 {
        let kept = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.frame_length.saturating_sub(self.stripped).max(kept)
    }
}

impl<'a> Record<'a> {
    /// The header of a flow sample's packet; `None` if this is another record.
    #[must_use]
    pub fn header(&self) -> Option<Result<SampledHeader<'a>, Refusal>> {
        self.is(1).then(|| {
            let mut data = Reader::new(self.data);
            Ok(SampledHeader {
                protocol: data.u32()?,
                frame_length: data.u32()?,
                stripped: data.u32()?,
                bytes: data.opaque()?,
            })
        })
    }

    /// The egress queue that a flow sample's packet was put into (`sflow_drops.txt`); `None` if this is another
    /// record.
    #[must_use]
    pub fn egress_queue(&self) -> Option<Result<u32, Refusal>> {
        self.is(1036).then(|| Reader::new(self.data).u32())
    }

    /// Nanoseconds that the packet was in the switch (`sflow_transit.txt`); all ones are so many or more. `None`
    /// if this is another record.
    #[must_use]
    pub fn transit_delay_ns(&self) -> Option<Result<u32, Refusal>> {
        self.is(1039).then(|| Reader::new(self.data).u32())
    }

    /// Bytes that were in the egress queue before the packet (`sflow_transit.txt`); `None` if this is another
    /// record.
    #[must_use]
    pub fn queue_depth_bytes(&self) -> Option<Result<u32, Refusal>> {
        self.is(1040).then(|| Reader::new(self.data).u32())
    }

    /// A counter sample's counters of an interface; `None` if this is another record.
    #[must_use]
    pub fn interface_counters(&self) -> Option<Result<InterfaceCounters, Refusal>> {
        self.is(1).then(|| InterfaceCounters::read(Reader::new(self.data)))
    }

    /// A counter sample's counters of an Ethernet interface; `None` if this is another record.
    #[must_use]
    pub fn ethernet_counters(&self) -> Option<Result<EthernetCounters, Refusal>> {
        self.is(2).then(|| EthernetCounters::read(Reader::new(self.data)))
    }

    const fn is(&self, format: u32) -> bool {
        self.enterprise == 0 && self.format == format
    }
}
