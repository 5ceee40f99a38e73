//! sFlow version 5 (sflow.org, `sflow_version_5.txt`): datagrams in which switches send sampled headers
//! and counters of their interfaces.
//!
//! ```text
//! datagram  version 5 | agent's address | sub-agent | sequence | uptime | n | n samples
//! sample    enterprise and format | length | sequence | source | ... | n | n records
//! record    enterprise and format | length | data
//! ```
//!
//! A length says where the next sample or record begins, so unknown ones are skipped.

mod counters;
mod record;
mod sample;
mod xdr;

use std::net::IpAddr;

pub use self::counters::{EthernetCounters, InterfaceCounters};
pub use self::record::{Record, Records, SampledHeader};
pub use self::sample::{CounterSample, FlowSample, Interface, Sample, Samples, Source};
use self::xdr::Reader;

/// The assigned UDP port of collectors.
pub const UDP_PORT: u16 = 6343;

/// Why a datagram, a sample or a record was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It ends before its lengths say so.
    Short,
    /// Not version 5.
    Version,
    /// An address of an unknown type.
    Address,
}

/// A datagram of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// The agent's own address, which stays the same whatever interface it sends from; `None` if it says
    /// that it does not know it.
    pub agent: Option<IpAddr>,
    /// Which of the agent's independent parts sent it.
    pub sub_agent: u32,
    /// Number of the datagram, counted by the sub-agent.
    pub sequence: u32,
    /// How long the agent has been running, milliseconds.
    pub uptime_ms: u32,
    /// How many samples it says it has.
    pub sample_count: u32,
    body: Reader<'a>,
}

impl<'a> Datagram<'a> {
    /// Reads the header of a UDP payload.
    ///
    /// # Errors
    ///
    /// When it is no sFlow version 5, or ends within its header.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Refusal> {
        let mut body = Reader::new(payload);
        if body.u32()? != 5 {
            return Err(Refusal::Version);
        }
        Ok(Self {
            agent: body.address()?,
            sub_agent: body.u32()?,
            sequence: body.u32()?,
            uptime_ms: body.u32()?,
            sample_count: body.u32()?,
            body,
        })
    }

    /// Its samples; the first error ends them.
    #[must_use]
    pub const fn samples(&self) -> Samples<'a> {
        Samples::new(self.body, self.sample_count)
    }
}

#[cfg(test)]
mod tests;
