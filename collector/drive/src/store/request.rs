//! Requests to a TCPStore, as bytes (`TCPStoreBackend.hpp`, `TCPStoreLibUvBackend.cpp`).
//!
//! A request is a one-byte code and its arguments: numbers are little-endian, keys and values are
//! preceded by their length in eight bytes. PyTorch 2.2 added a code in front of all others and
//! opens with it; a client that does not is treated as PyTorch 2.0 or earlier. (PyTorch 2.1 does
//! not open with it either but has other codes from 7 on, and cannot be recognised.)

use super::argument::{Bytes, KEY_LIMIT, VALUE_LIMIT};
use super::reader::{Reader, Stopped};

/// Longest request in bytes: two longest values and their key.
pub const REQUEST_LIMIT: usize = 2 * VALUE_LIMIT + KEY_LIMIT + 64;

/// Opening of a client of PyTorch 2.2 or later.
pub const VALIDATE: [u8; 5] = [0, 0xce, 0xf7, 0x85, 0x3c];

/// Reads the arguments that follow a code.
type ReadArguments = fn(&mut Reader<'_>) -> Result<Request, Stopped>;

/// Argument readers for the codes of PyTorch 2.8, from 1 on.
const CODES: [ReadArguments; 16] = [
    |from| Ok(Request::Set { key: from.key()?, value: from.value()? }),
    |from| {
        let (key, expected) = (from.key()?, from.value()?);
        Ok(Request::CompareSet { key, expected, desired: from.value()? })
    },
    |from| Ok(Request::Get(from.key()?)),
    |from| Ok(Request::Add { key: from.key()?, amount: from.i64()? }),
    |from| Ok(Request::Check(from.keys()?)),
    |from| Ok(Request::Wait(from.keys()?)),
    |_| Ok(Request::CountKeys),
    |from| Ok(Request::Delete(from.key()?)),
    |from| Ok(Request::Append { key: from.key()?, value: from.value()? }),
    |from| Ok(Request::MultiGet(from.keys()?)),
    |from| Ok(Request::MultiSet(from.pairs()?)),
    |_| Ok(Request::CancelWait),
    |from| Ok(Request::Ping(from.u32()?)),
    |from| Ok(Request::QueuePush { key: from.key()?, value: from.value()? }),
    |from| Ok(Request::QueuePop(from.key()?)),
    |from| Ok(Request::QueueLen(from.key()?)),
];

/// The current code for a code of PyTorch 2.0 and earlier.
const fn renumbered(old: u8) -> u8 {
    match old {
        0..=6 => old + 1,
        // 7 was a watch on a key, which Python 1.13 could no longer request.
        8 => 8,
        _ => 0,
    }
}

/// What a client asks of the store. Each variant names its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Sets a key. No answer.
    Set {
        /// The key to set.
        key: Bytes,
        /// The new value.
        value: Bytes,
    },
    /// Sets a key if it has the expected value, or does not exist and none is expected. Answer: a
    /// value.
    CompareSet {
        /// The key to compare and set.
        key: Bytes,
        /// The expected value.
        expected: Bytes,
        /// The new value.
        desired: Bytes,
    },
    /// Answer: the value, empty if there is none.
    Get(Bytes),
    /// Adds to a value that is a decimal number. Answer: the sum.
    Add {
        /// The key of the number; a missing one counts as 0.
        key: Bytes,
        /// May be negative.
        amount: i64,
    },
    /// Answer: whether all keys exist.
    Check(Vec<Bytes>),
    /// Answer, once all keys exist: [`STOP_WAITING`].
    Wait(Vec<Bytes>),
    /// Answer: the number of keys.
    CountKeys,
    /// Answer: the number of deleted keys.
    Delete(Bytes),
    /// Appends to a value. No answer.
    Append {
        /// The key of the value that grows.
        key: Bytes,
        /// The appended bytes.
        value: Bytes,
    },
    /// Answer: the values, concatenated.
    MultiGet(Vec<Bytes>),
    /// Sets several keys. No answer.
    MultiSet(Vec<(Bytes, Bytes)>),
    /// Cancels a wait. Answer: [`WAIT_CANCELED`].
    CancelWait,
    /// Answer: the same number.
    Ping(u32),
    /// Appends to a queue. No answer.
    QueuePush {
        /// The queue's key.
        key: Bytes,
        /// The new last value.
        value: Bytes,
    },
    /// Answer: the queue's length; then its first value, if any.
    QueuePop(Bytes),
    /// Answer: the queue's length.
    QueueLen(Bytes),
}

/// `WaitResponseType::STOP_WAITING`
pub const STOP_WAITING: u8 = 0;
/// `WaitResponseType::WAIT_CANCELED`
pub const WAIT_CANCELED: u8 = 1;
/// `CheckResponseType::READY`
pub const READY: u8 = 0;
/// `CheckResponseType::NOT_READY`
pub const NOT_READY: u8 = 1;

/// Extracts requests from a client's byte stream.
#[derive(Debug, Default)]
pub struct Requests {
    pending: Vec<u8>,
    /// Bytes of `pending` already consumed.
    taken: usize,
    /// Length that `pending` needs before the next attempt.
    wanted: usize,
    numbering: Numbering,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Numbering {
    #[default]
    Unknown,
    /// Codes start at 0: PyTorch 2.0 and earlier.
    Old,
    /// Codes start at 1.
    New,
}

impl Requests {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.pending.drain(..self.taken);
            self.wanted = self.wanted.saturating_sub(self.taken);
            self.taken = 0;
        }
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete request.
    ///
    /// # Errors
    /// The client speaks another protocol or exceeds a limit: close its connection.
    pub fn take(&mut self) -> Result<Option<Request>, String> {
        if self.pending.len() < self.wanted {
            return Ok(None);
        }
        let pending = self.pending.get(self.taken..).unwrap_or_default();
        if self.numbering == Numbering::Unknown {
            match opening(pending) {
                None => return Ok(None),
                Some(Numbering::New) => {
                    self.numbering = Numbering::New;
                    self.taken += VALIDATE.len();
                    return self.take();
                }
                Some(numbering) => self.numbering = numbering,
            }
        }
        let Some((code, arguments)) = pending.split_first() else { return Ok(None) };
        let current = if self.numbering == Numbering::Old { renumbered(*code) } else { *code };
        let known = usize::from(current).checked_sub(1).and_then(|place| CODES.get(place));
        let Some(read) = known else {
            return Err(format!("request code {code}, which TCPStore does not have"));
        };
        let mut reader = Reader::new(arguments);
        match read(&mut reader) {
            Ok(request) => {
                self.taken += 1 + reader.taken();
                self.wanted = self.taken;
                Ok(Some(request))
            }
            Err(Stopped::Wants(bytes)) if bytes <= REQUEST_LIMIT => {
                self.wanted = self.taken + 1 + bytes;
                Ok(None)
            }
            Err(Stopped::Wants(_)) => Err(format!("a request of more than {REQUEST_LIMIT} bytes")),
            Err(Stopped::Refused(why)) => Err(why),
        }
    }
}

/// A client's numbering, from its first bytes; `None` while there are too few. An old client's SET
/// cannot be mistaken for the opening: as a key length, the validation word would be too large.
fn opening(bytes: &[u8]) -> Option<Numbering> {
    let common = bytes.iter().zip(&VALIDATE).take_while(|(is, shall)| is == shall).count();
    match common {
        _ if common == VALIDATE.len() => Some(Numbering::New),
        _ if common == bytes.len() => None,
        _ => Some(Numbering::Old),
    }
}

impl Request {
    /// The bytes that a client of PyTorch 2.2 or later sends.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Set { key, value } => request(&mut bytes, 1, &[key, value]),
            Self::CompareSet { key, expected, desired } => {
                request(&mut bytes, 2, &[key, expected, desired]);
            }
            Self::Get(key) => request(&mut bytes, 3, &[key]),
            Self::Add { key, amount } => {
                request(&mut bytes, 4, &[key]);
                bytes.extend_from_slice(&amount.to_le_bytes());
            }
            Self::Check(keys) => request_of_keys(&mut bytes, 5, keys),
            Self::Wait(keys) => request_of_keys(&mut bytes, 6, keys),
            Self::CountKeys => bytes.push(7),
            Self::Delete(key) => request(&mut bytes, 8, &[key]),
            Self::Append { key, value } => request(&mut bytes, 9, &[key, value]),
            Self::MultiGet(keys) => request_of_keys(&mut bytes, 10, keys),
            Self::MultiSet(pairs) => {
                bytes.push(11);
                bytes.extend_from_slice(&(pairs.len() as u64).to_le_bytes());
                for (key, value) in pairs {
                    append_value(&mut bytes, key);
                    append_value(&mut bytes, value);
                }
            }
            Self::CancelWait => bytes.push(12),
            Self::Ping(nonce) => {
                bytes.push(13);
                bytes.extend_from_slice(&nonce.to_le_bytes());
            }
            Self::QueuePush { key, value } => request(&mut bytes, 14, &[key, value]),
            Self::QueuePop(key) => request(&mut bytes, 15, &[key]),
            Self::QueueLen(key) => request(&mut bytes, 16, &[key]),
        }
        bytes
    }
}

fn request(bytes: &mut Vec<u8>, code: u8, arguments: &[&Bytes]) {
    bytes.push(code);
    for argument in arguments {
        append_value(bytes, argument);
    }
}

fn request_of_keys(bytes: &mut Vec<u8>, code: u8, keys: &[Bytes]) {
    bytes.push(code);
    bytes.extend_from_slice(&(keys.len() as u64).to_le_bytes());
    for key in keys {
        append_value(bytes, key);
    }
}

/// Appends a key or value: its length in eight bytes, then its bytes.
pub fn append_value(bytes: &mut Vec<u8>, value: &[u8]) {
    bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
    bytes.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Request> {
        let (key, value) = (b"k".to_vec(), b"value".to_vec());
        vec![
            Request::Ping(279),
            Request::Set { key: key.clone(), value: value.clone() },
            Request::CompareSet { key: key.clone(), expected: vec![], desired: value.clone() },
            Request::Get(key.clone()),
            Request::Add { key: key.clone(), amount: -3 },
            Request::Check(vec![key.clone(), value.clone()]),
            Request::Wait(vec![]),
            Request::CountKeys,
            Request::Delete(key.clone()),
            Request::Append { key: key.clone(), value: value.clone() },
            Request::MultiGet(vec![key.clone()]),
            Request::MultiSet(vec![(key.clone(), value.clone()), (value.clone(), key.clone())]),
            Request::CancelWait,
            Request::QueuePush { key: key.clone(), value },
            Request::QueuePop(key.clone()),
            Request::QueueLen(key),
        ]
    }

    #[test]
    fn every_request_comes_back_however_it_is_cut() {
        let mut bytes = VALIDATE.to_vec();
        all().iter().for_each(|request| bytes.extend(request.encode()));
        for piece in [1, 3, 7, bytes.len()] {
            let mut requests = Requests::default();
            let mut found = Vec::new();
            for piece in bytes.chunks(piece) {
                requests.push(piece);
                while let Some(request) = requests.take().unwrap() {
                    found.push(request);
                }
            }
            assert_eq!(found, all());
        }
    }

    #[test]
    fn old_clients_count_from_zero() {
        let mut requests = Requests::default();
        let mut add = Request::Add { key: b"init/".to_vec(), amount: 1 }.encode();
        add[0] = 3;
        requests.push(&add);
        let request = requests.take().unwrap();
        assert_eq!(request, Some(Request::Add { key: b"init/".to_vec(), amount: 1 }));
        // The bytes that PyTorch 1.13 sends.
        requests.push(&Request::Delete(b"/swap".to_vec()).encode());
        assert_eq!(requests.take(), Ok(Some(Request::Delete(b"/swap".to_vec()))));
        requests.push(&[7]);
        assert!(requests.take().is_err());
        let mut set = Request::Set { key: b"k".to_vec(), value: vec![] }.encode();
        set[0] = 0;
        let mut requests = Requests::default();
        requests.push(&set);
        assert!(matches!(requests.take(), Ok(Some(Request::Set { .. }))));
    }

    #[test]
    fn too_much_is_refused() {
        let mut key = VALIDATE.to_vec();
        key.push(3);
        key.extend_from_slice(&(KEY_LIMIT as u64 + 1).to_le_bytes());
        let mut keys = VALIDATE.to_vec();
        keys.push(5);
        keys.extend_from_slice(&u64::MAX.to_le_bytes());
        for bytes in [key, keys, vec![0, 0xce, 0xf7, 0x85, 0x3c, 99], vec![200]] {
            let mut requests = Requests::default();
            requests.push(&bytes);
            assert!(requests.take().is_err(), "{bytes:?}");
        }
    }
}
