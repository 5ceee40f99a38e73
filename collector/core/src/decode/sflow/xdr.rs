//! XDR (RFC 4506) as sFlow uses it: big-endian words of four bytes, every length checked.

use std::net::IpAddr;

use super::Refusal;

/// What is left of a datagram, a sample or a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Refusal> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Refusal::Short)?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Refusal> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Refusal> {
        self.take().map(u64::from_be_bytes)
    }

    /// Bytes behind their length, padded to a multiple of four.
    pub(super) fn opaque(&mut self) -> Result<&'a [u8], Refusal> {
        let len = usize::try_from(self.u32()?).map_err(|_| Refusal::Short)?;
        let padded = len.checked_next_multiple_of(4).ok_or(Refusal::Short)?;
        let (taken, rest) = self.bytes.split_at_checked(padded).ok_or(Refusal::Short)?;
        self.bytes = rest;
        taken.get(..len).ok_or(Refusal::Short)
    }

    /// An address behind its type; `None` if the sender does not know it.
    pub(super) fn address(&mut self) -> Result<Option<IpAddr>, Refusal> {
        Ok(match self.u32()? {
            0 => None,
            1 => Some(IpAddr::from(self.take::<4>()?)),
            2 => Some(IpAddr::from(self.take::<16>()?)),
            _ => return Err(Refusal::Address),
        })
    }
}
