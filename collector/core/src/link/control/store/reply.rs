//! A TCPStore's replies, matched with the requests.

use std::collections::VecDeque;

use super::item::{ItemReader, ReadItem, Wanted};
use super::malformed::Malformed;
use super::request::{KEPT_VALUE_BYTES, Request, VALUE_BYTES};
use crate::decode::tcp_store::{Query, Reply};

/// Most pending requests, and most bytes of their keys. A client waits for each reply.
const PENDING: usize = 1024;
const PENDING_KEY_BYTES: usize = 256 << 10;

/// Most keys of a store.
const LISTED_KEYS: u64 = 1 << 24;

/// A client's query.
#[derive(Clone, Debug)]
struct Pending {
    query: Query,
    /// Keys whose values are expected, next one first.
    keys: VecDeque<String>,
    /// Values still expected; `None` before their number is known.
    values: Option<u64>,
}

/// A value returned by a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GotValue {
    /// Its key, unless it was too long to keep.
    pub(super) key: Option<String>,
    /// The value; empty if it is longer than a unique id.
    pub(super) kept: Vec<u8>,
}

/// Parses replies from a server's stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplyReader {
    pending: VecDeque<Pending>,
    key_bytes: usize,
    items: ItemReader,
    is_lost: bool,
}

impl ReplyReader {
    /// Bytes of memory, beyond that of the reader itself.
    pub(super) fn kept(&self) -> usize {
        self.pending.capacity() * size_of::<Pending>() + self.key_bytes + self.items.kept()
    }

    /// Bytes of replies were not captured. The client waits for each reply, so its next request
    /// settles all pending ones.
    pub(super) fn lose(&mut self) {
        *self = Self { is_lost: true, ..Self::default() };
    }

    /// A client sent a request.
    ///
    /// # Errors
    ///
    /// More requests are pending than any client has.
    pub(super) fn expect(&mut self, request: Request) -> Result<(), Malformed> {
        self.is_lost = false;
        let values = match request.query.reply() {
            Reply::None => return Ok(()),
            Reply::Value => Some(1),
            Reply::ValuePerKey => Some(request.count),
            Reply::ValueIfAny | Reply::CountedKeys => None,
            Reply::Nonce | Reply::Byte | Reply::Number => Some(0),
        };
        if request.query == Query::MultiGet && request.count == 0 {
            return Ok(());
        }
        let keys = if values == Some(0) { VecDeque::new() } else { request.keys.into() };
        self.key_bytes += keys.iter().map(String::len).sum::<usize>();
        self.pending.push_back(Pending { query: request.query, keys, values });
        let is_too_much = self.pending.len() > PENDING || self.key_bytes > PENDING_KEY_BYTES;
        if is_too_much { Err(Malformed) } else { Ok(()) }
    }

    /// Continues to the next value, and removes the consumed bytes from `bytes`; `None` if there is
    /// none.
    ///
    /// # Errors
    ///
    /// Nothing was requested, or the bytes are not a reply to it.
    pub(super) fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<GotValue>, Malformed> {
        while !bytes.is_empty() && !self.is_lost {
            let Some(pending) = self.pending.front() else { return Err(Malformed) };
            let wanted = match pending.query.reply() {
                Reply::Nonce => Wanted::Number(4),
                Reply::Byte => Wanted::Number(1),
                _ if matches!(pending.values, None | Some(0)) => Wanted::Number(8),
                _ => Wanted::Bytes { longest: VALUE_BYTES, kept: KEPT_VALUE_BYTES },
            };
            let Some(item) = self.items.read(wanted, bytes)? else { break };
            match item {
                ReadItem::Number(number) => self.take_number(number)?,
                ReadItem::Bytes(_, kept) => {
                    if let Some(value) = self.take_value(kept) {
                        return Ok(Some(value));
                    }
                }
            }
        }
        Ok(None)
    }

    fn take_number(&mut self, number: u64) -> Result<(), Malformed> {
        let Some(pending) = self.pending.front_mut() else { return Err(Malformed) };
        match (pending.query, number) {
            (Query::QueuePop, 1..) => pending.values = Some(1),
            (Query::ListKeys, 1..=LISTED_KEYS) => pending.values = Some(number),
            (Query::ListKeys, 1..) => return Err(Malformed),
            // A cancelled wait has no reply of its own.
            (Query::Wait | Query::Barrier, 1) => {
                self.pop();
                return match self.pop() {
                    Some(Query::CancelWait) => Ok(()),
                    _ => Err(Malformed),
                };
            }
            (Query::Wait | Query::Barrier, 0) | (Query::CancelWait, 1) | (Query::Check, 0 | 1) => {
                self.pop();
            }
            (Query::Wait | Query::Barrier | Query::CancelWait | Query::Check, _) => {
                return Err(Malformed);
            }
            _ => {
                self.pop();
            }
        }
        Ok(())
    }

    /// Adds a value; a listed key is not a value.
    fn take_value(&mut self, kept: Vec<u8>) -> Option<GotValue> {
        let pending = self.pending.front_mut()?;
        let is_value = pending.query != Query::ListKeys;
        let key = pending.keys.pop_front();
        self.key_bytes -= key.as_ref().map_or(0, String::len);
        let left = pending.values.unwrap_or(1).saturating_sub(1);
        pending.values = Some(left);
        if left == 0 {
            self.pop();
        }
        is_value.then_some(GotValue { key, kept })
    }

    fn pop(&mut self) -> Option<Query> {
        let pending = self.pending.pop_front()?;
        self.key_bytes -= pending.keys.iter().map(String::len).sum::<usize>();
        Some(pending.query)
    }
}
