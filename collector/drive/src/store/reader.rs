//! Reads the arguments of a request, as far as they have arrived.

use super::argument::{Bytes, KEY_COUNT_LIMIT, KEY_LIMIT, VALUE_LIMIT};

/// Why reading stops.
#[derive(Debug)]
pub(super) enum Stopped {
    /// At least this many bytes of arguments must arrive first.
    Wants(usize),
    /// The request is invalid.
    Refused(String),
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Number of bytes read.
    pub(super) fn taken(&self) -> usize {
        self.at
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8], Stopped> {
        let end = self.at.saturating_add(len);
        let found = self.bytes.get(self.at..end).ok_or(Stopped::Wants(end))?;
        self.at = end;
        Ok(found)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stopped> {
        let wanted = self.at.saturating_add(N);
        self.bytes(N)?.first_chunk().copied().ok_or(Stopped::Wants(wanted))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stopped> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, Stopped> {
        self.array().map(i64::from_le_bytes)
    }

    /// A number up to `limit`; `what` names it in errors.
    fn count(&mut self, limit: usize, what: &str) -> Result<usize, Stopped> {
        let count = u64::from_le_bytes(self.array()?);
        match usize::try_from(count) {
            Ok(count) if count <= limit => Ok(count),
            _ => Err(Stopped::Refused(format!("{count} {what}; {limit} are the most"))),
        }
    }

    pub(super) fn key(&mut self) -> Result<Bytes, Stopped> {
        let len = self.count(KEY_LIMIT, "bytes of a key")?;
        Ok(self.bytes(len)?.to_vec())
    }

    pub(super) fn value(&mut self) -> Result<Bytes, Stopped> {
        let len = self.count(VALUE_LIMIT, "bytes of a value")?;
        Ok(self.bytes(len)?.to_vec())
    }

    pub(super) fn keys(&mut self) -> Result<Vec<Bytes>, Stopped> {
        let count = self.count(KEY_COUNT_LIMIT, "keys")?;
        self.room_for(count, 8)?;
        (0..count).map(|_| self.key()).collect()
    }

    pub(super) fn pairs(&mut self) -> Result<Vec<(Bytes, Bytes)>, Stopped> {
        let count = self.count(KEY_COUNT_LIMIT, "keys")?;
        self.room_for(count, 16)?;
        (0..count).map(|_| Ok((self.key()?, self.value()?))).collect()
    }

    /// Checks that `count` items of at least `least` bytes each are possible.
    fn room_for(&self, count: usize, least: usize) -> Result<(), Stopped> {
        let end = self.at.saturating_add(count.saturating_mul(least));
        if self.bytes.len() < end { Err(Stopped::Wants(end)) } else { Ok(()) }
    }
}
