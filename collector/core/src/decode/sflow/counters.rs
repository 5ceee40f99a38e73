//! Counters of interfaces: the generic ones (RFC 2233) and those of Ethernet (RFC 2358).
//!
//! Neither counts pause frames.

use super::Refusal;
use super::xdr::Reader;

/// Counters of any interface. All ones are a value that the agent does not have: it is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the MIB")]
pub struct InterfaceCounters {
    pub index: u32,
    /// Bits per second.
    pub speed_bps: Option<u64>,
    /// Up by setting and in fact.
    pub is_up: bool,
    pub in_octets: Option<u64>,
    pub in_discards: Option<u32>,
    pub in_errors: Option<u32>,
    pub out_octets: Option<u64>,
    pub out_discards: Option<u32>,
    pub out_errors: Option<u32>,
}

impl InterfaceCounters {
    pub(super) fn read(mut data: Reader<'_>) -> Result<Self, Refusal> {
        let index = data.u32()?;
        let _type = data.u32()?;
        let speed = data.u64()?;
        let _direction = data.u32()?;
        let status = data.u32()?;
        let in_octets = data.u64()?;
        skip(&mut data, 3)?;
        let in_discards = data.u32()?;
        let in_errors = data.u32()?;
        skip(&mut data, 1)?;
        let out_octets = data.u64()?;
        skip(&mut data, 3)?;
        let out_discards = data.u32()?;
        let out_errors = data.u32()?;
        let _promiscuous = data.u32()?;
        Ok(Self {
            index,
            speed_bps: known_long(speed).filter(|speed| *speed > 0),
            is_up: status & 3 == 3,
            in_octets: known_long(in_octets),
            in_discards: known(in_discards),
            in_errors: known(in_errors),
            out_octets: known_long(out_octets),
            out_discards: known(out_discards),
            out_errors: known(out_errors),
        })
    }
}

/// Counters of an Ethernet interface that show bad links. All ones are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the MIB")]
pub struct EthernetCounters {
    pub fcs_errors: Option<u32>,
    pub symbol_errors: Option<u32>,
}

impl EthernetCounters {
    pub(super) fn read(mut data: Reader<'_>) -> Result<Self, Refusal> {
        skip(&mut data, 1)?;
        let fcs_errors = data.u32()?;
        skip(&mut data, 10)?;
        let symbol_errors = data.u32()?;
        Ok(Self { fcs_errors: known(fcs_errors), symbol_errors: known(symbol_errors) })
    }
}

fn skip(data: &mut Reader<'_>, words: usize) -> Result<(), Refusal> {
    for _ in 0..words {
        data.u32()?;
    }
    Ok(())
}

fn known(value: u32) -> Option<u32> {
    (value != u32::MAX).then_some(value)
}

fn known_long(value: u64) -> Option<u64> {
    (value != u64::MAX).then_some(value)
}
