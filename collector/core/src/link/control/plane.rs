//! All TCP connections, each read by its dialect, as facts.
//!
//! Connections without a known dialect are dropped at once. The memory of all others together is
//! limited; past the limit, connections that need more are given up.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use super::facts::ControlFacts;
use super::pools::Pools;
use super::stream::{Outcome, Stream};
use crate::flow::tcp_stream::sink::{
    Chunk, ConnectionId, Ending, Interest, Side, StreamSink, StreamTotals, TcpConnection,
};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::time::{Span, Timestamp};

/// Memory limits.
#[derive(Clone, Copy, Debug)]
pub struct ControlConfig {
    /// Most connections with a dialect, open or not.
    pub connection_capacity: usize,
    /// Most bytes kept over all of them.
    pub kept_bytes: usize,
}

impl Default for ControlConfig {
    fn default() -> Self {
        Self { connection_capacity: 1 << 17, kept_bytes: 64 << 20 }
    }
}

/// Counters of unreadable messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControlCounts {
    /// Connections ignored for lack of space.
    pub ignored_connections: u64,
    /// Connections with missing bytes while they were being read.
    pub gap_connections: u64,
    /// Connections that greeted like NCCL but then matched no known release.
    pub malformed_connections: u64,
    /// Connections that exceeded the limit of one or of all.
    pub oversized_connections: u64,
    /// Check-ins of NCCL 2.15 or before, which are not read.
    pub unsupported_connections: u64,
}

/// What shows that a connection belongs to a communicator that is not over.
#[derive(Clone, Debug, Default)]
pub struct Living {
    /// The magics that their ranks greet with.
    pub magics: BTreeSet<u64>,
    /// Client and server of connections that set up a connection for data, or carry data: they all greet
    /// with the same magic (`NCCL_SOCKET_MAGIC`).
    pub streams: BTreeSet<(SocketAddr, SocketAddr)>,
}

/// Reads the control plane.
#[derive(Clone, Debug)]
pub struct ControlPlane {
    config: ControlConfig,
    /// Copies share those that did not change since.
    streams: BTreeMap<ConnectionId, Arc<Stream>>,
    /// What rings among them have in common.
    pools: Pools,
    /// Bytes of memory of the streams, without the pools.
    kept: usize,
    forgotten: u64,
    counts: ControlCounts,
}

impl ControlPlane {
    /// Without connections.
    #[must_use]
    pub fn new(config: ControlConfig) -> Self {
        Self {
            config,
            streams: BTreeMap::new(),
            pools: Pools::default(),
            kept: 0,
            forgotten: 0,
            counts: ControlCounts::default(),
        }
    }

    /// Multiplies the limits by so many captures.
    pub fn allow_for(&mut self, captures: usize) {
        let Self { config, .. } = self;
        config.connection_capacity = config.connection_capacity.saturating_mul(captures);
        config.kept_bytes = config.kept_bytes.saturating_mul(captures);
    }

    /// Everything read so far, in order of the connections' first appearance.
    #[must_use]
    pub fn facts(&self) -> ControlFacts {
        let mut facts =
            ControlFacts { streams: Vec::with_capacity(self.streams.len()), ..Default::default() };
        for (id, stream) in &self.streams {
            stream.push_facts(*id, &mut facts);
        }
        facts
    }

    /// Counters so far.
    #[must_use]
    pub const fn counts(&self) -> ControlCounts {
        self.counts
    }

    /// Bytes kept now.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.kept + self.pools.kept()
    }

    /// Drops the messages of NET/Socket that passed before `time`.
    pub fn forget_before(&mut self, time: Timestamp) {
        for stream in self.streams.values_mut().map(Arc::make_mut) {
            let kept = stream.kept();
            self.forgotten += stream.forget_before(time);
            self.kept -= kept - stream.kept();
        }
    }

    /// The magics whose connections show a sign of life: bytes or an end since `bound`, or an open
    /// connection with bytes since `silent`.
    #[must_use]
    pub fn living_magics(&self, bound: Timestamp, silent: Timestamp) -> BTreeSet<u64> {
        let is_alive = |stream: &&Arc<Stream>| stream.is_alive(bound, silent);
        let alive = self.streams.values().filter(is_alive);
        alive.filter_map(|stream| stream.magic()).collect()
    }

    /// Forgets the connections of communicators that are not `living`, and others without a sign of life;
    /// returns how many.
    pub fn forget(&mut self, bound: Timestamp, silent: Timestamp, living: &Living) -> u64 {
        let before = self.streams.len();
        self.streams.retain(|_, stream| match stream.magic() {
            Some(magic) => living.magics.contains(&magic),
            None => living.streams.contains(&stream.ends()) || stream.is_alive(bound, silent),
        });
        self.kept = self.streams.values().map(|stream| stream.kept()).sum();
        self.pools.sweep();
        (before - self.streams.len()) as u64
    }

    /// Where the connections that are kept lead.
    #[must_use]
    pub fn servers(&self) -> BTreeSet<SocketAddr> {
        self.streams.values().map(|stream| stream.ends().1).collect()
    }

    /// Messages of NET/Socket that were dropped because they were old.
    #[must_use]
    pub const fn forgotten_messages(&self) -> u64 {
        self.forgotten
    }

    /// From the oldest message of NET/Socket that is kept to the latest, and their number; `None`
    /// without any.
    #[must_use]
    pub fn messages(&self) -> Option<(Span, usize)> {
        let all = self.streams.values().filter_map(|stream| stream.messages());
        all.reduce(|(one, count), (other, more)| {
            let (first, last) = (one.first.min(other.first), one.last.max(other.last));
            (Span { first, last }, count + more)
        })
    }

    /// Adds what could not be read to `health`.
    pub fn add_health(&self, health: &mut Health) {
        let counts = &self.counts;
        health.add(HealthEvent::ControlGapConnections, counts.gap_connections);
        health.add(HealthEvent::ControlIgnoredConnections, counts.ignored_connections);
        health.add(HealthEvent::ControlMalformedConnections, counts.malformed_connections);
        health.add(HealthEvent::ControlOversizedConnections, counts.oversized_connections);
        health.add(HealthEvent::ControlUnsupportedConnections, counts.unsupported_connections);
    }

    /// Lets `act` work on a stream and updates the memory account.
    fn with(
        &mut self,
        id: ConnectionId,
        act: impl FnOnce(&mut Stream, &mut Pools) -> Outcome,
    ) -> Interest {
        let Some(stream) = self.streams.get_mut(&id).map(Arc::make_mut) else {
            return Interest::Enough;
        };
        let others = self.kept - stream.kept();
        let mut outcome = act(stream, &mut self.pools);
        if others + stream.kept() + self.pools.kept() > self.config.kept_bytes {
            stream.end(&mut self.pools);
            outcome = Outcome::Oversized;
        }
        let kept = stream.kept();
        self.kept = others + kept;
        let counts = &mut self.counts;
        match outcome {
            Outcome::More => return Interest::More,
            Outcome::Enough => {}
            Outcome::Malformed => counts.malformed_connections += 1,
            Outcome::Gap => counts.gap_connections += 1,
            Outcome::Oversized => counts.oversized_connections += 1,
            Outcome::Unsupported => counts.unsupported_connections += 1,
            Outcome::Other => {}
        }
        let is_none_of_ours = matches!(outcome, Outcome::Unsupported | Outcome::Other);
        if is_none_of_ours || self.kept_bytes() > self.config.kept_bytes {
            self.kept = others;
            self.streams.remove(&id);
        }
        Interest::Enough
    }
}

impl StreamSink for ControlPlane {
    fn opened(&mut self, id: ConnectionId, connection: &TcpConnection) {
        if self.streams.len() < self.config.connection_capacity {
            self.streams.insert(id, Arc::new(Stream::new(*connection)));
        } else {
            self.counts.ignored_connections += 1;
        }
    }

    fn bytes(&mut self, id: ConnectionId, from: Side, chunk: Chunk<'_>) -> Interest {
        self.with(id, |stream, pools| stream.bytes(from, &chunk, pools))
    }

    fn gap(&mut self, id: ConnectionId, from: Side, bytes: u64) -> Interest {
        self.with(id, |stream, pools| stream.gap(from, bytes, pools))
    }

    fn window(&mut self, id: ConnectionId, of: Side, is_closed: bool, time: Timestamp) {
        if let Some(stream) = self.streams.get_mut(&id).map(Arc::make_mut) {
            let before = stream.kept();
            stream.window(of, is_closed, time);
            self.kept += stream.kept() - before;
        }
    }

    fn totals(&mut self, id: ConnectionId, totals: &StreamTotals) {
        if let Some(stream) = self.streams.get_mut(&id).map(Arc::make_mut) {
            stream.totals(totals);
        }
    }

    fn closed(&mut self, id: ConnectionId, ending: Ending, time: Timestamp) {
        if let Some(stream) = self.streams.get_mut(&id).map(Arc::make_mut) {
            stream.note_end(ending, time);
        }
        self.with(id, Stream::end);
    }
}
