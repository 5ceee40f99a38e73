//! PyTorch's TCPStore: which unique ids are stored under which keys, and who wrote or read them.

mod item;
mod malformed;
mod reply;
pub mod request;

use std::net::SocketAddr;

pub use self::malformed::Malformed;
use self::reply::ReplyReader;
use self::request::{Request, RequestReader};
use super::facts::StoredId;
use crate::decode::nccl::unique_id;
use crate::decode::tcp_store::{Numbering, Query, VALIDATION};
use crate::flow::tcp_stream::sink::{Interest, Side};
use crate::model::nccl::UniqueId;
use crate::model::time::Timestamp;
use crate::model::witness::Witness;

/// Well-formed requests by which a client without a signature is recognised.
const CONSISTENT_REQUESTS: usize = 2;

/// A client without a signature is rejected if it is still unrecognised after this many bytes.
const RECOGNITION_BYTES: usize = 4096;

/// Whether a stream belongs to a TCPStore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognition {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// More bytes are needed.
    NeedMore,
}

/// Why a conversation was not read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Bytes of the client were not captured: where its next request starts is unknown.
    Gap,
    /// The bytes are invalid, or more than any client sends.
    Malformed,
}

/// Whether a stream that starts with `first_bytes` from `from` belongs to a TCPStore. The client
/// sends first: from PyTorch 2.2 on a signature; before, only strict parsing of several requests
/// recognises it.
#[must_use]
pub fn recognises(first_bytes: &[u8], from: Side) -> Recognition {
    if from == Side::Server {
        return Recognition::No;
    }
    if first_bytes.starts_with(&VALIDATION) {
        return Recognition::Yes;
    }
    if VALIDATION.starts_with(first_bytes) {
        return Recognition::NeedMore;
    }
    let mut requests = RequestReader::new(Numbering::Unvalidated);
    let mut rest = first_bytes;
    for _ in 0..CONSISTENT_REQUESTS {
        match requests.read(&mut rest) {
            // A request without a key is a byte that proves nothing.
            Ok(Some(request)) if request.keys.is_empty() => return Recognition::No,
            Ok(Some(_)) => {}
            Ok(None) if first_bytes.len() < RECOGNITION_BYTES => return Recognition::NeedMore,
            Ok(None) | Err(Malformed) => return Recognition::No,
        }
    }
    Recognition::Yes
}

/// One client's connection to a TCPStore, read from its first byte.
#[derive(Clone, Debug)]
pub struct StoreConversation {
    store: SocketAddr,
    client: SocketAddr,
    requests: Option<RequestReader>,
    replies: ReplyReader,
    stop: Option<Stop>,
    is_registered: bool,
    is_answered: bool,
    wait: Option<StoreWait>,
}

/// A client waits for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreWait {
    /// The key.
    pub key: String,
    /// When it asked.
    pub since: Timestamp,
    /// When it gave up; `None` if it did not.
    pub until: Option<Timestamp>,
    /// The frame that asked.
    pub witness: Witness,
}

/// What a client did at a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreVisit {
    /// It was counted among the workers.
    pub is_registered: bool,
    /// What it waited for last, if nothing came.
    pub wait: Option<StoreWait>,
}

/// Every worker adds 1 to this key.
const WORKERS_KEY: &str = "init/";

impl StoreConversation {
    /// A connection of `client` to `store`.
    #[must_use]
    pub fn new(client: SocketAddr, store: SocketAddr) -> Self {
        Self {
            store,
            client,
            requests: None,
            replies: ReplyReader::default(),
            stop: None,
            is_registered: false,
            is_answered: false,
            wait: None,
        }
    }

    /// What the client did so far.
    #[must_use]
    pub fn visit(&self) -> StoreVisit {
        // Of a store whose answers no tap sees, nothing is known.
        let wait = self.wait.clone().filter(|_| self.is_answered);
        StoreVisit { is_registered: self.is_registered, wait }
    }

    /// Why the rest was not read, if it was not.
    #[must_use]
    pub const fn stop(&self) -> Option<Stop> {
        self.stop
    }

    /// Bytes of memory, beyond that of the conversation itself.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.requests.as_ref().map_or(0, RequestReader::kept) + self.replies.kept()
    }

    /// Processes the next bytes of `from`, in the frame `witness`, and adds ids that are written or
    /// read to `out`. The client's first bytes must be those that were recognised, in one piece.
    pub fn bytes(
        &mut self,
        from: Side,
        bytes: &[u8],
        witness: Witness,
        out: &mut Vec<StoredId>,
    ) -> Interest {
        if self.stop.is_some() {
            return Interest::Enough;
        }
        let outcome = match from {
            Side::Client => self.read_requests(bytes, witness, out),
            Side::Server => self.read_replies(bytes, witness, out),
        };
        match outcome {
            Ok(()) => Interest::More,
            Err(Malformed) => self.stop_for(Stop::Malformed),
        }
    }

    /// Bytes that `from` sent were not captured.
    pub fn gap(&mut self, from: Side) -> Interest {
        match from {
            _ if self.stop.is_some() => Interest::Enough,
            Side::Client => self.stop_for(Stop::Gap),
            Side::Server => {
                self.replies.lose();
                Interest::More
            }
        }
    }

    fn stop_for(&mut self, stop: Stop) -> Interest {
        self.stop.get_or_insert(stop);
        self.requests = None;
        self.replies = ReplyReader::default();
        Interest::Enough
    }

    fn read_requests(
        &mut self,
        mut bytes: &[u8],
        witness: Witness,
        out: &mut Vec<StoredId>,
    ) -> Result<(), Malformed> {
        let mut requests = self.requests.take().unwrap_or_else(|| {
            let is_validated = bytes.starts_with(&VALIDATION);
            let numbering =
                if is_validated { Numbering::Validated } else { Numbering::Unvalidated };
            RequestReader::new(numbering)
        });
        while let Some(request) = requests.read(&mut bytes)? {
            self.tell_set(&request, witness, out);
            self.note(&request, witness);
            self.replies.expect(request)?;
        }
        self.requests = Some(requests);
        Ok(())
    }

    /// Notes what it waits for: a client asks nothing more until it has an answer, or gives up.
    fn note(&mut self, request: &Request, witness: Witness) {
        let Witness::Frame { time, .. } = witness else { return };
        let key = request.keys.first();
        match (request.query, &mut self.wait) {
            (Query::CancelWait, Some(wait)) => wait.until = Some(time),
            (Query::Wait, _) => {
                let key = key.cloned().unwrap_or_default();
                self.wait = Some(StoreWait { key, since: time, until: None, witness });
            }
            (Query::Add, _) if key.is_some_and(|key| key.ends_with(WORKERS_KEY)) => {
                self.is_registered = true;
                self.wait = None;
            }
            _ => self.wait = None,
        }
    }

    fn tell_set(&self, request: &Request, witness: Witness, out: &mut Vec<StoredId>) {
        if !matches!(request.query, Query::Set | Query::MultiSet) {
            return;
        }
        for (key, value) in request.keys.iter().zip(&request.values) {
            out.extend(self.stored_id(key, &value.kept, true, witness));
        }
    }

    fn read_replies(
        &mut self,
        mut bytes: &[u8],
        witness: Witness,
        out: &mut Vec<StoredId>,
    ) -> Result<(), Malformed> {
        self.is_answered |= !bytes.is_empty();
        self.wait = self.wait.take().filter(|wait| wait.until.is_some());
        while let Some(value) = self.replies.read(&mut bytes)? {
            if let Some(key) = &value.key {
                out.extend(self.stored_id(key, &value.kept, false, witness));
            }
        }
        Ok(())
    }

    /// The fact that `value` is a unique id, if it is.
    fn stored_id(
        &self,
        key: &str,
        value: &[u8],
        is_set: bool,
        witness: Witness,
    ) -> Option<StoredId> {
        let id = UniqueId(value.try_into().ok()?);
        unique_id::parse(&id)?;
        let (store, client, key) = (self.store, self.client, key.to_owned());
        Some(StoredId { store, client, key, is_set, id, witness })
    }
}
