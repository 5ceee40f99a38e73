//! The store's contents and its waiting clients, as in PyTorch's libuv back-end.

use std::collections::{HashMap, HashSet, VecDeque};

use super::argument::Bytes;
use super::request::{NOT_READY, READY, Request, STOP_WAITING, WAIT_CANCELED, append_value};

/// Largest total size of keys and values.
pub const CONTENTS_LIMIT: usize = 512 << 20;

/// Largest answer in bytes.
pub const ANSWER_LIMIT: usize = 64 << 20;

/// Overhead of an entry beyond key and value.
const ENTRY_BYTES: usize = 64;

/// A client's number at the server.
pub type ClientId = u64;

/// A store without connections.
#[derive(Debug, Default)]
pub struct Contents {
    values: HashMap<Bytes, Bytes>,
    queues: HashMap<Bytes, VecDeque<Bytes>>,
    /// The keys that each waiting client still lacks.
    missing: HashMap<ClientId, HashSet<Bytes>>,
    /// Clients waiting for a key, in order of arrival.
    waiting: HashMap<Bytes, Vec<ClientId>>,
    bytes: usize,
}

/// The result of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Answer to the client.
    pub bytes: Bytes,
    /// Clients to be sent [`STOP_WAITING`].
    pub woken: Vec<ClientId>,
}

impl Contents {
    /// Executes a client's request.
    ///
    /// # Errors
    /// It is impossible: disconnect the client.
    pub fn serve(&mut self, client: ClientId, request: Request) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let bytes = &mut answer.bytes;
        match request {
            Request::Ping(nonce) => bytes.extend_from_slice(&nonce.to_le_bytes()),
            Request::Set { key, value } => answer.woken = self.set(key, value)?,
            Request::MultiSet(pairs) => {
                for (key, value) in pairs {
                    answer.woken.extend(self.set(key, value)?);
                }
            }
            Request::CompareSet { key, expected, desired } => {
                return self.compare_set(key, expected, desired);
            }
            Request::Get(key) => append_value(bytes, self.value(&key)),
            Request::MultiGet(keys) => self.multi_get(&keys, bytes)?,
            Request::Add { key, amount } => {
                let held = number(self.value(&key))?;
                let sum = held.wrapping_add(amount);
                bytes.extend_from_slice(&sum.to_le_bytes());
                answer.woken = self.set(key, sum.to_string().into_bytes())?;
            }
            Request::Append { key, value } => {
                let longer = [self.value(&key), &value].concat();
                answer.woken = self.set(key, longer)?;
            }
            Request::Check(keys) => {
                let is_ready = keys.iter().all(|key| self.has(key));
                bytes.push(if is_ready { READY } else { NOT_READY });
            }
            Request::Wait(keys) => {
                if !self.wait(client, keys) {
                    bytes.push(STOP_WAITING);
                }
            }
            Request::CancelWait => {
                self.forget(client);
                bytes.push(WAIT_CANCELED);
            }
            Request::CountKeys => bytes.extend_from_slice(&len(self.values.len())),
            Request::Delete(key) => bytes.extend_from_slice(&len(usize::from(self.delete(&key)))),
            Request::QueuePush { key, value } => answer.woken = self.queue_push(key, value)?,
            Request::QueuePop(key) => self.queue_pop(&key, bytes),
            Request::QueueLen(key) => {
                bytes.extend_from_slice(&len(self.queues.get(&key).map_or(0, VecDeque::len)));
            }
        }
        Ok(answer)
    }

    /// Sets a value that is what the client expects; answers what it is now.
    fn compare_set(
        &mut self,
        key: Bytes,
        expected: Bytes,
        desired: Bytes,
    ) -> Result<Answer, String> {
        let mut answer = Answer::default();
        let held = self.values.get(&key);
        if held.map_or(expected.is_empty(), |held| *held == expected) {
            append_value(&mut answer.bytes, &desired);
            answer.woken = self.set(key, desired)?;
        } else {
            append_value(&mut answer.bytes, held.unwrap_or(&expected));
        }
        Ok(answer)
    }

    fn multi_get(&self, keys: &[Bytes], bytes: &mut Bytes) -> Result<(), String> {
        let len: usize = keys.iter().map(|key| 8 + self.value(key).len()).sum();
        if len > ANSWER_LIMIT {
            return Err(format!("a request for {len} bytes; {ANSWER_LIMIT} are the most"));
        }
        keys.iter().for_each(|key| append_value(bytes, self.value(key)));
        Ok(())
    }

    /// Whether there was such a value.
    fn delete(&mut self, key: &[u8]) -> bool {
        let deleted = self.values.remove(key);
        if let Some(value) = &deleted {
            self.bytes = self.bytes.saturating_sub(cost(key, value));
        }
        deleted.is_some()
    }

    /// Forgets a client that has gone or stopped waiting.
    pub fn forget(&mut self, client: ClientId) {
        for key in self.missing.remove(&client).unwrap_or_default() {
            if let Some(waiting) = self.waiting.get_mut(&key) {
                waiting.retain(|other| *other != client);
                if waiting.is_empty() {
                    self.waiting.remove(&key);
                }
            }
        }
    }

    /// The value of a key, for the process that runs the server.
    #[must_use]
    pub fn value(&self, key: &[u8]) -> &[u8] {
        self.values.get(key).map_or(&[], Vec::as_slice)
    }

    fn has(&self, key: &[u8]) -> bool {
        self.values.contains_key(key) || self.queues.get(key).is_some_and(|queue| !queue.is_empty())
    }

    fn set(&mut self, key: Bytes, value: Bytes) -> Result<Vec<ClientId>, String> {
        if value.len() > ANSWER_LIMIT {
            return Err(format!("a value of {} bytes; {ANSWER_LIMIT} are the most", value.len()));
        }
        let before = self.values.get(&key).map_or(0, |held| cost(&key, held));
        self.charge(before, cost(&key, &value))?;
        let woken = self.wake_all(&key);
        self.values.insert(key, value);
        Ok(woken)
    }

    fn charge(&mut self, before: usize, after: usize) -> Result<(), String> {
        let bytes = self.bytes.saturating_sub(before).saturating_add(after);
        if bytes > CONTENTS_LIMIT {
            return Err(format!("more than the {CONTENTS_LIMIT} bytes that the store may hold"));
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Whether `client` has to wait.
    fn wait(&mut self, client: ClientId, keys: Vec<Bytes>) -> bool {
        self.forget(client);
        let missing: HashSet<Bytes> = keys.into_iter().filter(|key| !self.has(key)).collect();
        if missing.is_empty() {
            return false;
        }
        for key in &missing {
            self.waiting.entry(key.clone()).or_default().push(client);
        }
        self.missing.insert(client, missing);
        true
    }

    fn wake_all(&mut self, key: &[u8]) -> Vec<ClientId> {
        let waiting = self.waiting.remove(key).unwrap_or_default();
        waiting.into_iter().filter(|client| self.has_come(*client, key)).collect()
    }

    /// Records that a key exists that `client` waits for; returns whether it was the last.
    fn has_come(&mut self, client: ClientId, key: &[u8]) -> bool {
        let Some(missing) = self.missing.get_mut(&client) else { return false };
        missing.remove(key);
        let is_all = missing.is_empty();
        if is_all {
            self.missing.remove(&client);
        }
        is_all
    }

    /// A queued value is for one client: only the first in line is woken.
    fn queue_push(&mut self, key: Bytes, value: Bytes) -> Result<Vec<ClientId>, String> {
        self.charge(0, cost(&key, &value))?;
        let waiting = self.waiting.get_mut(&key).filter(|waiting| !waiting.is_empty());
        let first = waiting.map(|waiting| waiting.remove(0));
        if self.waiting.get(&key).is_some_and(Vec::is_empty) {
            self.waiting.remove(&key);
        }
        let woken = first.into_iter().filter(|client| self.has_come(*client, &key)).collect();
        self.queues.entry(key).or_default().push_back(value);
        Ok(woken)
    }

    fn queue_pop(&mut self, key: &[u8], answer: &mut Bytes) {
        let Some(queue) = self.queues.get_mut(key) else {
            answer.extend_from_slice(&len(0));
            return;
        };
        answer.extend_from_slice(&len(queue.len()));
        if let Some(value) = queue.pop_front() {
            append_value(answer, &value);
            self.bytes = self.bytes.saturating_sub(cost(key, &value));
        }
        if queue.is_empty() {
            self.queues.remove(key);
        }
    }
}

fn cost(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + ENTRY_BYTES
}

fn len(count: usize) -> [u8; 8] {
    (count as u64).to_le_bytes()
}

/// The number in a value; an absent value counts as 0.
fn number(value: &[u8]) -> Result<i64, String> {
    if value.is_empty() {
        return Ok(0);
    }
    let text = str::from_utf8(value).ok().map(str::trim);
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| "an addition to a value that is no number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Bytes {
        text.as_bytes().to_vec()
    }

    fn set(store: &mut Contents, key: &str) -> Vec<ClientId> {
        store.serve(0, Request::Set { key: bytes(key), value: bytes("v") }).unwrap().woken
    }

    #[test]
    fn who_waits_is_woken_when_all_keys_are_there() {
        let mut store = Contents::default();
        let wait = |store: &mut Contents, client, keys: &[&str]| {
            let keys = keys.iter().map(|key| bytes(key)).collect();
            store.serve(client, Request::Wait(keys)).unwrap().bytes
        };
        assert!(wait(&mut store, 1, &["a", "b", "b"]).is_empty());
        assert!(wait(&mut store, 2, &["a"]).is_empty());
        assert!(wait(&mut store, 3, &["a"]).is_empty());
        store.forget(3);
        assert_eq!(set(&mut store, "a"), [2]);
        assert!(set(&mut store, "a").is_empty());
        assert_eq!(set(&mut store, "b"), [1]);
        assert_eq!(wait(&mut store, 1, &["a", "b"]), [STOP_WAITING]);
        assert!(store.waiting.is_empty() && store.missing.is_empty());
    }

    #[test]
    fn a_queue_wakes_one() {
        let mut store = Contents::default();
        for client in [1, 2] {
            store.serve(client, Request::Wait(vec![bytes("q")])).unwrap();
        }
        let push = Request::QueuePush { key: bytes("q"), value: bytes("v") };
        assert_eq!(store.serve(0, push).unwrap().woken, [1]);
        let popped = store.serve(1, Request::QueuePop(bytes("q"))).unwrap().bytes;
        assert_eq!(popped, [&len(1)[..], &len(1), b"v"].concat());
        let popped = store.serve(1, Request::QueuePop(bytes("q"))).unwrap().bytes;
        assert_eq!(popped, len(0));
        assert_eq!(store.bytes, 0);
    }

    #[test]
    fn sums_are_decimal_digits() {
        let mut store = Contents::default();
        for sum in [2_i64, 4] {
            let add = Request::Add { key: bytes("n"), amount: 2 };
            assert_eq!(store.serve(0, add).unwrap().bytes, sum.to_le_bytes());
        }
        assert_eq!(store.value(b"n"), b"4");
        set(&mut store, "n");
        assert!(store.serve(0, Request::Add { key: bytes("n"), amount: 2 }).is_err());
    }

    #[test]
    fn compare_and_set() {
        let mut store = Contents::default();
        let mut ask = |expected: &str, desired: &str| {
            let (expected, desired) = (bytes(expected), bytes(desired));
            let request = Request::CompareSet { key: bytes("k"), expected, desired };
            store.serve(0, request).unwrap().bytes[8..].to_vec()
        };
        assert_eq!(ask("x", "y"), b"x");
        assert_eq!(ask("", "y"), b"y");
        assert_eq!(ask("x", "z"), b"y");
        assert_eq!(ask("y", "z"), b"z");
    }

    #[test]
    fn the_store_is_not_filled_without_end() {
        let mut store = Contents { bytes: CONTENTS_LIMIT - 100, ..Contents::default() };
        let value = vec![0; 200];
        assert!(store.serve(0, Request::Set { key: bytes("k"), value }).is_err());
        assert!(set(&mut store, "k").is_empty());
    }
}
