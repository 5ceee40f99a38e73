//! Samples: a header that was drawn, or counters that were read, at a source.

use super::Refusal;
use super::record::Records;
use super::xdr::Reader;

/// Where samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// 0: an interface, 1: a VLAN, 2: a physical entity.
    pub class: u32,
    /// Its index in its class: ifIndex, VLAN.
    pub index: u32,
}

impl Source {
    /// Type in 8 bits, index in 24.
    const fn compact(word: u32) -> Self {
        Self { class: word >> 24, index: word & 0xff_ffff }
    }

    /// Whether this is the interface.
    #[must_use]
    pub fn is(self, interface: Interface) -> bool {
        self.class == 0 && interface == Interface::Index(self.index)
    }
}

/// Where a sampled packet came in, or went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// One interface, by its ifIndex.
    Index(u32),
    /// It went nowhere, for this reason.
    Dropped(u32),
    /// It went to so many interfaces; 0 if the number is not known.
    Several(u32),
    /// Not known, or the switch itself.
    Unknown,
}

impl Interface {
    const fn new(format: u32, value: u32) -> Self {
        match (format, value) {
            (0, 0 | 0x3fff_ffff | u32::MAX) => Self::Unknown,
            (0, index) => Self::Index(index),
            (1, reason) => Self::Dropped(reason),
            (2, count) => Self::Several(count),
            _ => Self::Unknown,
        }
    }

    /// Format in 2 bits, value in 30.
    const fn compact(word: u32) -> Self {
        Self::new(word >> 30, word & 0x3fff_ffff)
    }
}

/// A packet that was drawn.
#[derive(Clone, Debug)]
pub struct FlowSample<'a> {
    /// Number of the sample, counted by the source.
    pub sequence: u32,
    /// Where it was drawn.
    pub source: Source,
    /// One packet in so many is drawn; 0 is no rate.
    pub rate: u32,
    /// Packets that could have been drawn so far; wraps.
    pub pool: u32,
    /// Packets drawn that got lost in the switch so far; wraps.
    pub drops: u32,
    /// Where the packet came in.
    pub input: Interface,
    /// Where it went out.
    pub output: Interface,
    /// What is known of it.
    pub records: Records<'a>,
}

/// Counters that were read.
#[derive(Clone, Debug)]
pub struct CounterSample<'a> {
    /// Number of the sample, counted by the source.
    pub sequence: u32,
    /// Whose counters they are.
    pub source: Source,
    /// The counters.
    pub records: Records<'a>,
}

/// One sample.
#[derive(Clone, Debug)]
pub enum Sample<'a> {
    /// A packet, in the compact or in the expanded form.
    Flow(FlowSample<'a>),
    /// Counters, in either form.
    Counters(CounterSample<'a>),
    /// Of another format: skipped.
    Other {
        /// Who defined it; 0 is sflow.org.
        enterprise: u32,
        /// The format's number.
        format: u32,
    },
}

/// The samples of a datagram.
#[derive(Clone, Debug)]
pub struct Samples<'a> {
    rest: Reader<'a>,
    left: u32,
}

impl<'a> Samples<'a> {
    pub(super) const fn new(rest: Reader<'a>, left: u32) -> Self {
        Self { rest, left }
    }

    fn read(&mut self) -> Result<Sample<'a>, Refusal> {
        let format = self.rest.u32()?;
        let body = Reader::new(self.rest.opaque()?);
        let (enterprise, format) = (format >> 12, format & 0xfff);
        match (enterprise, format) {
            (0, 1) => flow(body, false).map(Sample::Flow),
            (0, 3) => flow(body, true).map(Sample::Flow),
            (0, 2) => counters(body, false).map(Sample::Counters),
            (0, 4) => counters(body, true).map(Sample::Counters),
            _ => Ok(Sample::Other { enterprise, format }),
        }
    }
}

impl<'a> Iterator for Samples<'a> {
    type Item = Result<Sample<'a>, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let sample = self.read();
        if sample.is_err() {
            self.left = 0;
        }
        Some(sample)
    }
}

fn source(body: &mut Reader<'_>, is_expanded: bool) -> Result<Source, Refusal> {
    let first = body.u32()?;
    Ok(match is_expanded {
        true => Source { class: first, index: body.u32()? },
        false => Source::compact(first),
    })
}

fn interface(body: &mut Reader<'_>, is_expanded: bool) -> Result<Interface, Refusal> {
    let first = body.u32()?;
    Ok(match is_expanded {
        true => Interface::new(first, body.u32()?),
        false => Interface::compact(first),
    })
}

fn flow(mut body: Reader<'_>, is_expanded: bool) -> Result<FlowSample<'_>, Refusal> {
    Ok(FlowSample {
        sequence: body.u32()?,
        source: source(&mut body, is_expanded)?,
        rate: body.u32()?,
        pool: body.u32()?,
        drops: body.u32()?,
        input: interface(&mut body, is_expanded)?,
        output: interface(&mut body, is_expanded)?,
        records: records(body)?,
    })
}

fn counters(mut body: Reader<'_>, is_expanded: bool) -> Result<CounterSample<'_>, Refusal> {
    Ok(CounterSample {
        sequence: body.u32()?,
        source: source(&mut body, is_expanded)?,
        records: records(body)?,
    })
}

fn records(mut body: Reader<'_>) -> Result<Records<'_>, Refusal> {
    let count = body.u32()?;
    Ok(Records::new(body, count))
}
