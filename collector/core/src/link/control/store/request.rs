//! A client's requests to a TCPStore, one by one.

use super::item::{ItemReader, ReadItem, Wanted};
use super::malformed::Malformed;
use crate::decode::tcp_store::{Item, Items, Numbering, Query, VALIDATION};

/// Longest key in PyTorch's libuv back-end.
const KEY_BYTES: u64 = 8 << 10;

/// Longest value. The libuv back-end accepts 8 MiB, the other one anything.
pub(super) const VALUE_BYTES: u64 = 1 << 30;

/// Longer values are skipped: a unique id has this many bytes.
pub(super) const KEPT_VALUE_BYTES: usize = 128;

/// Most keys of one request.
const KEYS: u64 = 1 << 20;

/// Bytes of keys and values kept per request; the rest is skipped.
const KEPT_BYTES: usize = 64 << 10;

/// Overhead of a key or value.
const ITEM_COST: usize = 32;

/// A value that a client sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentValue {
    /// Its length in bytes.
    pub len: u64,
    /// The value; empty if it was skipped.
    pub kept: Vec<u8>,
}

/// A client's request, as far as it was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub query: Query,
    /// Its keys that were kept, in order.
    pub keys: Vec<String>,
    /// Its values that were kept or are longer than a unique id, in order.
    pub values: Vec<SentValue>,
    /// Its number: to add, or to echo.
    pub number: Option<u64>,
    /// How often its keys and values are repeated.
    pub count: u64,
}

/// Parses requests from a client's stream.
#[derive(Clone, Debug)]
pub struct RequestReader {
    numbering: Numbering,
    items: ItemReader,
    request: Option<Unfinished>,
}

#[derive(Clone, Debug)]
struct Unfinished {
    request: Request,
    /// The repeated items.
    items: &'static [Item],
    awaits_count: bool,
    /// Items still expected.
    left: u64,
    /// Bytes that may still be kept.
    room: usize,
}

enum Next {
    Count,
    Item(Item),
    End,
}

impl RequestReader {
    /// At the start of a connection.
    #[must_use]
    pub fn new(numbering: Numbering) -> Self {
        Self { numbering, items: ItemReader::default(), request: None }
    }

    /// Bytes of memory, beyond that of the reader itself.
    pub(super) fn kept(&self) -> usize {
        let room = self.request.as_ref().map_or(KEPT_BYTES, |unfinished| unfinished.room);
        self.items.kept() + (KEPT_BYTES - room)
    }

    /// Continues, and removes the consumed bytes from `bytes`; `None` while the request is
    /// incomplete.
    ///
    /// # Errors
    ///
    /// The bytes are not a request; reading on is pointless.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Request>, Malformed> {
        loop {
            let Some(unfinished) = &mut self.request else {
                let Some(ReadItem::Number(code)) = self.items.read(Wanted::Number(1), bytes)?
                else {
                    return Ok(None);
                };
                let query = self.numbering.query(code as u8).ok_or(Malformed)?;
                self.request = Some(Unfinished::new(query));
                continue;
            };
            let wanted = match unfinished.next() {
                Next::End => return Ok(self.request.take().map(|unfinished| unfinished.request)),
                Next::Count | Next::Item(Item::Number) => Wanted::Number(8),
                Next::Item(Item::Nonce) => Wanted::Number(4),
                Next::Item(Item::Key) => {
                    Wanted::Bytes { longest: KEY_BYTES, kept: unfinished.room }
                }
                Next::Item(Item::Value) => Wanted::Bytes {
                    longest: VALUE_BYTES,
                    kept: unfinished.room.min(KEPT_VALUE_BYTES),
                },
            };
            let Some(item) = self.items.read(wanted, bytes)? else { return Ok(None) };
            unfinished.take(item, self.numbering)?;
        }
    }
}

impl Unfinished {
    fn new(query: Query) -> Self {
        let (items, awaits_count) = match query.items() {
            Items::Once(items) => (items, false),
            Items::Counted(items) => (items, true),
        };
        let request =
            Request { query, keys: Vec::new(), values: Vec::new(), number: None, count: 1 };
        Self { request, items, awaits_count, left: items.len() as u64, room: KEPT_BYTES }
    }

    fn next(&self) -> Next {
        if self.awaits_count {
            return Next::Count;
        }
        // The items of all repetitions end together.
        let len = self.items.len() as u64;
        match self.left {
            0 => Next::End,
            left => Next::Item(self.items[((len - left % len) % len) as usize]),
        }
    }

    fn take(&mut self, item: ReadItem, numbering: Numbering) -> Result<(), Malformed> {
        let next = self.next();
        let request = &mut self.request;
        match (next, item) {
            (Next::Count, ReadItem::Number(count)) => {
                if count > KEYS {
                    return Err(Malformed);
                }
                request.count = count;
                self.left = count * self.items.len() as u64;
                self.awaits_count = false;
                return Ok(());
            }
            (Next::Item(Item::Key), ReadItem::Bytes(len, kept)) => {
                if self.room < kept.len() + ITEM_COST || (kept.len() as u64) < len {
                    self.room = 0;
                } else {
                    self.room -= kept.len() + ITEM_COST;
                    request.keys.push(key(kept, numbering)?);
                }
            }
            (Next::Item(Item::Value), ReadItem::Bytes(len, kept)) => {
                if let Some(room) = self.room.checked_sub(kept.len() + ITEM_COST) {
                    self.room = room;
                    request.values.push(SentValue { len, kept });
                } else {
                    self.room = 0;
                }
            }
            (Next::Item(Item::Nonce | Item::Number), ReadItem::Number(number)) => {
                let [_, magic @ ..] = VALIDATION;
                let is_expected = number == u64::from(u32::from_le_bytes(magic));
                if request.query == Query::Validate && !is_expected {
                    return Err(Malformed);
                }
                request.number = Some(number);
            }
            _ => return Err(Malformed),
        }
        self.left -= 1;
        Ok(())
    }
}

/// A key as text. Without other evidence of a store, only keys that PyTorch creates are accepted:
/// printable, after a slash, except for the one that counts workers.
fn key(bytes: Vec<u8>, numbering: Numbering) -> Result<String, Malformed> {
    let is_usual = bytes.starts_with(b"/") || bytes == b"init/";
    let is_printable = bytes.iter().all(|byte| matches!(byte, 0x20..0x7f));
    match numbering {
        Numbering::Unvalidated if !is_usual || !is_printable => Err(Malformed),
        _ => Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())),
    }
}
