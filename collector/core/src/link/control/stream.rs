//! One TCP connection: its first bytes select its dialect, which then reads it.
//!
//! The connector sends first in every dialect, so the first sender is the connector. Connections
//! that start like no dialect are ignored from then on.

use std::net::SocketAddr;

use super::bootstrap::{Bootstrap, Setting};
use super::ends::{Ends, Progress};
use super::exchange::Exchange;
use super::facts::{ControlFacts, StoredId, StreamFacts, StreamKind};
use super::pools::Pools;
use super::ras::Ras;
use super::recognition::Recognition;
use super::socket::Socket;
use super::store::StoreConversation;
use crate::decode::nccl::greeting::{Greeting, SOCKET_MAGIC, SocketType};
use crate::flow::tcp_stream::sink::{
    Chunk, ConnectionId, Ending, Interest, Side, StreamTotals, TcpConnection,
};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// More bytes than either end sends before the dialect is known.
const OPENING_LIMIT: usize = 4096;

/// A connection.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    connection: TcpConnection,
    state: State,
    latest: Option<Timestamp>,
    has_ended: bool,
}

#[derive(Clone, Debug)]
enum State {
    Opening(Opening),
    Known(Box<Conversation>),
}

/// Bytes of both ends before the dialect is known.
#[derive(Clone, Debug, Default)]
struct Opening {
    /// The first sender, and when.
    first: Option<(Side, Timestamp)>,
    connector: Vec<u8>,
    listener: Vec<u8>,
}

/// A connection whose dialect is known.
#[derive(Clone, Debug)]
struct Conversation {
    ends: Ends,
    /// Its greeting's magic; `None` for a TCPStore.
    magic: Option<u64>,
    dialect: Dialect,
    /// Nothing more is read.
    is_over: bool,
    /// Known at its end only.
    totals: Option<Box<StreamTotals>>,
}

/// The dialect that reads a connection.
#[derive(Clone, Debug)]
enum Dialect {
    Store(Box<Store>),
    Bootstrap(Bootstrap),
    Exchange(Exchange),
    Socket(Socket),
    Ras(Ras),
    Proxy,
}

/// A TCPStore's connection, and the unique ids that passed on it.
#[derive(Clone, Debug)]
struct Store {
    conversation: StoreConversation,
    ids: Vec<StoredId>,
}

/// Result of processing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// More is wanted.
    More,
    /// No more is wanted.
    Enough,
    /// No dialect: drop the connection.
    Other,
    /// NCCL up to 2.15, which is not read: drop the connection.
    Unsupported,
    /// The dialect gave up.
    Malformed,
    /// Bytes are missing that the dialect needed.
    Gap,
    /// The connection exceeded its memory limit.
    Oversized,
}

impl Stream {
    pub(super) fn new(connection: TcpConnection) -> Self {
        let state = State::Opening(Opening::default());
        Self { connection, state, latest: None, has_ended: false }
    }

    pub(super) fn bytes(&mut self, from: Side, chunk: &Chunk<'_>, pools: &mut Pools) -> Outcome {
        self.latest = self.latest.max(Some(chunk.time));
        let opening = match &mut self.state {
            State::Opening(opening) => opening,
            State::Known(conversation) => return conversation.bytes(from, chunk, pools),
        };
        let (first, time) = *opening.first.get_or_insert((from, chunk.time));
        // With a SYN, the connector is certain.
        if self.connection.is_from_start && first == Side::Server {
            return Outcome::Other;
        }
        let said = if from == first { &mut opening.connector } else { &mut opening.listener };
        said.extend_from_slice(chunk.bytes);
        let is_small = said.len() <= OPENING_LIMIT;
        let greeting = match Recognition::from_opening(&opening.connector, &self.connection, first)
        {
            Recognition::Greeted(greeting) => Some(greeting),
            Recognition::Store => None,
            Recognition::NeedMore if is_small => return Outcome::More,
            Recognition::NeedMore | Recognition::Other => return Outcome::Other,
            Recognition::Unsupported => return Outcome::Unsupported,
        };
        let opening = std::mem::take(opening);
        let span = Span { first: time, last: chunk.time };
        let mut conversation = Conversation {
            ends: Ends::new(&self.connection, first),
            magic: greeting.map(|greeting| greeting.magic),
            dialect: match greeting {
                Some(greeting) => Dialect::from_greeting(greeting, span),
                None => Dialect::Store(Box::new(Store::new(&self.connection))),
            },
            is_over: false,
            totals: None,
        };
        let heard = greeting.map_or(0, |_| Greeting::LEN);
        let said = opening.connector.get(heard..).unwrap_or(&[]);
        let mut outcome = Outcome::More;
        for (side, bytes) in [(first, said), (first.other(), &opening.listener[..])] {
            if outcome == Outcome::More && !bytes.is_empty() {
                outcome = conversation.bytes(side, &Chunk { bytes, ..*chunk }, pools);
            }
        }
        self.state = State::Known(Box::new(conversation));
        outcome
    }

    /// `bytes` bytes of `from` are missing.
    pub(super) fn gap(&mut self, from: Side, bytes: u64, pools: &mut Pools) -> Outcome {
        match &mut self.state {
            State::Opening(_) => Outcome::Other,
            State::Known(conversation) => conversation.gap(from, bytes, pools),
        }
    }

    /// The receive window of `of` closes, or opens again.
    pub(super) fn window(&mut self, of: Side, is_closed: bool, time: Timestamp) {
        if let State::Known(conversation) = &mut self.state
            && let Dialect::Socket(socket) = &mut conversation.dialect
        {
            socket.window(conversation.ends.speaker(of), is_closed, time);
        }
    }

    /// The magic of the communicator that it greeted with, if it is known.
    pub(super) fn magic(&self) -> Option<u64> {
        match &self.state {
            State::Known(conversation) => conversation.magic.filter(|magic| *magic != SOCKET_MAGIC),
            State::Opening(_) => None,
        }
    }

    /// Its client and its server.
    pub(super) const fn ends(&self) -> (SocketAddr, SocketAddr) {
        (self.connection.client, self.connection.server)
    }

    /// Whether it had bytes or its end since `bound`, or is open and had bytes since `silent`.
    pub(super) fn is_alive(&self, bound: Timestamp, silent: Timestamp) -> bool {
        let since = if self.has_ended { bound } else { silent };
        self.latest.is_none_or(|latest| latest >= since)
    }

    /// From the oldest message that is kept to the latest, and their number.
    pub(super) fn messages(&self) -> Option<(Span, usize)> {
        let State::Known(conversation) = &self.state else { return None };
        let Dialect::Socket(socket) = &conversation.dialect else { return None };
        socket.messages()
    }

    /// Drops messages that passed before `time`; returns how many.
    pub(super) fn forget_before(&mut self, time: Timestamp) -> u64 {
        match &mut self.state {
            State::Known(conversation) => match &mut conversation.dialect {
                Dialect::Socket(socket) => socket.forget_before(time),
                _ => 0,
            },
            State::Opening(_) => 0,
        }
    }

    /// The connection has ended: facts stay, incomplete data goes. `Malformed` if nothing was ever
    /// understood.
    pub(super) fn end(&mut self, pools: &mut Pools) -> Outcome {
        match &mut self.state {
            State::Opening(_) => Outcome::Other,
            State::Known(conversation) => conversation.end(pools),
        }
    }

    pub(super) fn note_end(&mut self, ending: Ending, time: Timestamp) {
        if let State::Known(conversation) = &mut self.state
            && let Dialect::Socket(socket) = &mut conversation.dialect
            && !matches!(ending, Ending::CaptureEnd | Ending::Evicted)
        {
            socket.close(time);
        }
        self.has_ended = true;
        self.latest = self.latest.max(Some(time));
    }

    pub(super) fn totals(&mut self, totals: &StreamTotals) {
        if let State::Known(conversation) = &mut self.state {
            conversation.totals = Some(Box::new(*totals));
        }
    }

    pub(super) fn push_facts(&self, id: ConnectionId, facts: &mut ControlFacts) {
        let State::Known(conversation) = &self.state else { return };
        let Conversation { ends, magic, dialect, totals, .. } = &**conversation;
        match dialect {
            Dialect::Store(store) => facts.stored_ids.extend(store.ids.iter().cloned()),
            Dialect::Bootstrap(bootstrap) => bootstrap.push_fact(ends, facts),
            Dialect::Exchange(exchange) => exchange.push_fact(ends, facts),
            Dialect::Socket(socket) => socket.push_fact(ends, totals.as_deref(), facts),
            Dialect::Ras(ras) => facts.ras_peers.extend(ras.peer().cloned()),
            Dialect::Proxy => {}
        }
        facts.streams.push(StreamFacts {
            id,
            kind: dialect.kind(),
            magic: *magic,
            connection: self.connection,
            totals: totals.as_deref().copied(),
            visit: match dialect {
                Dialect::Store(store) => Some(store.conversation.visit()),
                _ => None,
            },
        });
    }

    /// Bytes kept beyond the minimum of every connection.
    pub(super) fn kept(&self) -> usize {
        match &self.state {
            State::Opening(opening) => opening.connector.capacity() + opening.listener.capacity(),
            State::Known(conversation) => conversation.dialect.kept(),
        }
    }
}

impl Conversation {
    fn bytes(&mut self, from: Side, chunk: &Chunk<'_>, pools: &mut Pools) -> Outcome {
        if self.is_over {
            return Outcome::Enough;
        }
        let (speaker, witness) = (self.ends.speaker(from), self.ends.witness(chunk));
        let (bytes, ends) = (chunk.bytes, &self.ends);
        let progress = match &mut self.dialect {
            Dialect::Store(store) => store.bytes(from, bytes, witness),
            Dialect::Bootstrap(bootstrap) => {
                bootstrap.bytes(speaker, bytes, &mut Setting { ends, witness, pools })
            }
            Dialect::Exchange(exchange) => exchange.bytes(speaker, bytes, witness),
            Dialect::Socket(socket) => socket.bytes(speaker, bytes, witness),
            Dialect::Ras(ras) => ras.bytes(speaker, bytes, witness),
            Dialect::Proxy => Progress::Done,
        };
        let outcome = match progress {
            Progress::More => return Outcome::More,
            Progress::Done => Outcome::Enough,
            Progress::Malformed if !self.dialect.is_clear() => Outcome::Other,
            Progress::Malformed => Outcome::Malformed,
            Progress::Oversized => Outcome::Oversized,
        };
        self.finish(pools);
        outcome
    }

    fn gap(&mut self, from: Side, bytes: u64, pools: &mut Pools) -> Outcome {
        if self.is_over {
            return Outcome::Enough;
        }
        match &mut self.dialect {
            Dialect::Socket(socket) => {
                if socket.gap(self.ends.speaker(from), bytes) == Progress::More {
                    return Outcome::More;
                }
                self.finish(pools);
            }
            Dialect::Store(store) => {
                if store.conversation.gap(from) == Interest::More {
                    return Outcome::More;
                }
                self.finish(pools);
            }
            // The other end's half is just as useful without it.
            Dialect::Exchange(exchange) => exchange.lose(self.ends.speaker(from)),
            _ => self.finish(pools),
        }
        Outcome::Gap
    }

    fn end(&mut self, pools: &mut Pools) -> Outcome {
        if self.is_over {
            return Outcome::Enough;
        }
        self.finish(pools);
        match &self.dialect {
            dialect if !dialect.is_clear() => Outcome::Other,
            Dialect::Exchange(exchange) if !exchange.is_read() => Outcome::Malformed,
            _ => Outcome::Enough,
        }
    }

    fn finish(&mut self, pools: &mut Pools) {
        self.is_over = true;
        match &mut self.dialect {
            Dialect::Bootstrap(bootstrap) => bootstrap.end(pools),
            Dialect::Exchange(exchange) => exchange.end(),
            Dialect::Ras(ras) => ras.end(),
            Dialect::Store(_) | Dialect::Socket(_) | Dialect::Proxy => {}
        }
    }
}

impl Store {
    fn new(connection: &TcpConnection) -> Self {
        let conversation = StoreConversation::new(connection.client, connection.server);
        Self { conversation, ids: Vec::new() }
    }

    fn bytes(&mut self, from: Side, bytes: &[u8], witness: Witness) -> Progress {
        match self.conversation.bytes(from, bytes, witness, &mut self.ids) {
            Interest::More => Progress::More,
            Interest::Enough if self.conversation.stop().is_some() => Progress::Malformed,
            Interest::Enough => Progress::Done,
        }
    }
}

impl Dialect {
    /// Whether the dialect is certain.
    const fn is_clear(&self) -> bool {
        match self {
            Self::Bootstrap(bootstrap) => bootstrap.is_clear(),
            _ => true,
        }
    }

    const fn kind(&self) -> StreamKind {
        match self {
            Self::Store(_) => StreamKind::TcpStore,
            Self::Bootstrap(_) => StreamKind::Bootstrap,
            Self::Exchange(_) => StreamKind::IbOob,
            Self::Socket(_) => StreamKind::Socket,
            Self::Ras(_) => StreamKind::Ras,
            Self::Proxy => StreamKind::Proxy,
        }
    }

    fn kept(&self) -> usize {
        match self {
            Self::Store(store) => {
                let keys: usize = store.ids.iter().map(|id| id.key.capacity()).sum();
                store.conversation.kept() + keys + store.ids.len() * size_of::<StoredId>()
            }
            Self::Bootstrap(bootstrap) => bootstrap.kept(),
            Self::Exchange(exchange) => exchange.kept(),
            Self::Ras(ras) => ras.kept(),
            Self::Socket(socket) => socket.kept(),
            Self::Proxy => 0,
        }
    }

    fn from_greeting(greeting: Greeting, span: Span) -> Self {
        match greeting.socket_type {
            SocketType::Bootstrap => Self::Bootstrap(Bootstrap::new(greeting.magic, span)),
            SocketType::NetIb => Self::Exchange(Exchange::default()),
            SocketType::NetSocket => Self::Socket(Socket::new(span)),
            SocketType::Ras => Self::Ras(Ras::default()),
            SocketType::Proxy => Self::Proxy,
        }
    }
}
