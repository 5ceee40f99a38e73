//! Items of a stream that arrives in pieces: numbers, and byte strings with their length.

use super::malformed::Malformed;

/// Bytes of a key's or value's length.
const LENGTH_BYTES: usize = 8;

/// What to read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A number of this many bytes, 8 at most.
    Number(usize),
    /// A length and that many bytes. More than `longest` are invalid, more than `kept` are skipped.
    Bytes { longest: u64, kept: usize },
}

/// A parsed item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadItem {
    /// A count, length or sum.
    Number(u64),
    /// Bytes: their number, and their content unless skipped.
    Bytes(u64, Vec<u8>),
}

/// Parses one item after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemReader {
    number: [u8; LENGTH_BYTES],
    filled: usize,
    body: Option<Body>,
}

#[derive(Clone, Debug)]
struct Body {
    len: u64,
    left: u64,
    kept: Vec<u8>,
    is_kept: bool,
}

impl ItemReader {
    /// Bytes of memory, beyond that of the reader itself.
    pub(super) fn kept(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.kept.capacity())
    }

    /// Continues, and removes the consumed bytes from `bytes`; `None` while the item is incomplete.
    pub(super) fn read(
        &mut self,
        wanted: Wanted,
        bytes: &mut &[u8],
    ) -> Result<Option<ReadItem>, Malformed> {
        match wanted {
            Wanted::Number(len) => Ok(self.number(len, bytes).map(ReadItem::Number)),
            Wanted::Bytes { longest, kept } => {
                if self.body.is_none() {
                    let Some(len) = self.number(LENGTH_BYTES, bytes) else { return Ok(None) };
                    if len > longest {
                        return Err(Malformed);
                    }
                    let is_kept = len <= kept as u64;
                    self.body = Some(Body { len, left: len, kept: Vec::new(), is_kept });
                }
                Ok(self.bytes(bytes))
            }
        }
    }

    fn number(&mut self, len: usize, bytes: &mut &[u8]) -> Option<u64> {
        let taken = bytes.len().min(len - self.filled);
        let (new, rest) = bytes.split_at(taken);
        self.number[self.filled..self.filled + taken].copy_from_slice(new);
        self.filled += taken;
        *bytes = rest;
        if self.filled < len {
            return None;
        }
        let number = u64::from_le_bytes(self.number);
        (self.number, self.filled) = ([0; LENGTH_BYTES], 0);
        Some(number)
    }

    fn bytes(&mut self, bytes: &mut &[u8]) -> Option<ReadItem> {
        let body = self.body.as_mut()?;
        let taken = body.left.min(bytes.len() as u64);
        let (new, rest) = bytes.split_at(taken as usize);
        *bytes = rest;
        body.left -= taken;
        if body.is_kept {
            body.kept.extend_from_slice(new);
        }
        if body.left > 0 {
            return None;
        }
        let body = self.body.take()?;
        Some(ReadItem::Bytes(body.len, body.kept))
    }
}
