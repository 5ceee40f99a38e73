//! The TCP connections of all taps: found by their ends, bounded in number and memory.
//!
//! When the table is full, an ended or else the least recently active of eight connections at a
//! moving hand is evicted. When too much is held for missing bytes, connections at another hand
//! stop waiting.

use std::hash::BuildHasher;
use std::net::IpAddr;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::connection::{Connection, ConnectionKey, End, REST_NS};
use super::half::Reception;
use super::sink::{ConnectionId, Ending, StreamSink, StreamTotals};
use crate::decode::packet::TcpSegment;
use crate::model::frame::Frame;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::time::Timestamp;

/// Connections sampled to find the one to evict.
const EVICTION_SAMPLE: usize = 8;

/// Limits of the streams.
#[derive(Clone, Copy, Debug)]
pub struct TcpConfig {
    /// Most connections at a time.
    pub connection_capacity: usize,
    /// Most bytes held per direction while earlier bytes are missing.
    pub held_bytes_per_direction: usize,
    /// Most bytes held over all connections.
    pub held_bytes: usize,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            connection_capacity: 65_536,
            held_bytes_per_direction: 256 << 10,
            held_bytes: 32 << 20,
        }
    }
}

/// Counters of connections and segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Connections found.
    pub connections: u64,
    /// Connections evicted because the table was full.
    pub evicted_connections: u64,
    /// Ranges of bytes not captured while somebody listened.
    pub gaps: u64,
    /// Bytes in these ranges.
    pub missing_bytes: u64,
    /// Times that bytes were given up as missing because too much was waiting for them.
    pub hold_overflows: u64,
    /// Segments outside their connection's window, dropped.
    pub stray_segments: u64,
    /// Segments with payload after the end of their connection, dropped.
    pub late_segments: u64,
}

impl TcpCounts {
    fn add(&mut self, totals: &StreamTotals) {
        for direction in [totals.client, totals.server] {
            self.gaps += direction.gaps;
            self.missing_bytes += direction.missing_bytes;
        }
    }
}

/// All TCP connections.
#[derive(Clone)]
pub struct TcpStreams {
    config: TcpConfig,
    connections: Vec<Connection>,
    index: HashTable<u32>,
    hasher: RandomState,
    eviction_hand: usize,
    release_hand: usize,
    held: usize,
    counts: TcpCounts,
}

impl TcpStreams {
    /// Multiplies the limits by so many captures.
    pub fn allow_for(&mut self, captures: usize) {
        let Self { config, .. } = self;
        let connections = config.connection_capacity.saturating_mul(captures);
        config.connection_capacity = connections.min(u32::MAX as usize);
        config.held_bytes = config.held_bytes.saturating_mul(captures);
    }

    /// Without connections.
    #[must_use]
    pub fn new(config: TcpConfig) -> Self {
        let capacity = config.connection_capacity.clamp(1, u32::MAX as usize);
        Self {
            config: TcpConfig { connection_capacity: capacity, ..config },
            connections: Vec::new(),
            index: HashTable::new(),
            hasher: RandomState::default(),
            eviction_hand: 0,
            release_hand: 0,
            held: 0,
            counts: TcpCounts::default(),
        }
    }

    /// Processes the TCP segment of a frame, from `source` to `destination`, and passes new data to
    /// `sink`.
    pub fn observe(
        &mut self,
        frame: &Frame<'_>,
        source: IpAddr,
        destination: IpAddr,
        segment: &TcpSegment<'_>,
        sink: &mut impl StreamSink,
    ) {
        let source = End::new(source, segment.ports.source);
        let destination = End::new(destination, segment.ports.destination);
        let known = self.index_of(&ConnectionKey::new(frame.tap, source, destination));
        let at = match known {
            Some(at) if !self.connections[at].is_replaced_by(segment, source, frame.time) => at,
            _ => {
                let id = ConnectionId(self.counts.connections as u32);
                let ends = [source, destination];
                let Some(new) = Connection::opened_by(segment, ends, id, frame) else { return };
                self.counts.connections += 1;
                let described = new.describe();
                let at = self.put(new, known, frame, sink);
                sink.opened(id, &described);
                at
            }
        };
        let connection = &mut self.connections[at];
        if connection.is_over() {
            self.counts.late_segments += u64::from(segment.payload_len > 0);
            return;
        }
        let held_before = connection.held();
        let limit = self.config.held_bytes_per_direction;
        let (reception, ending) = connection.receive(segment, source, frame, limit, sink);
        self.held = self.held + connection.held() - held_before;
        self.counts.stray_segments += u64::from(reception == Reception::Stray);
        self.counts.hold_overflows += u64::from(reception == Reception::Overflow);
        if let Some(ending) = ending {
            self.close(at, ending, frame, sink);
        }
        while self.held > self.config.held_bytes {
            self.release_one(sink);
        }
    }

    /// Forgets connections that ended before `ended`, or so long ago that their ports are free again, and those
    /// that were silent since before `silent`.
    pub fn forget(&mut self, ended: Timestamp, silent: Timestamp) {
        let latest = self.connections.iter().map(|connection| connection.span.last).max();
        let rested = latest.map_or(0, |latest| latest.as_nanos().saturating_sub(REST_NS));
        let ended = ended.max(Timestamp::from_nanos(rested));
        let mut at = 0;
        while let Some(connection) = self.connections.get(at) {
            let bound = if connection.is_over() { ended } else { silent };
            if connection.span.last >= bound {
                at += 1;
                continue;
            }
            self.held -= if connection.is_over() { 0 } else { connection.held() };
            self.replace_in_index(at, None);
            let last = self.connections.len() - 1;
            if last != at {
                self.replace_in_index(last, Some(at));
            }
            self.connections.swap_remove(at);
        }
        if self.connections.len() < self.connections.capacity() / 4 {
            self.connections.shrink_to(2 * self.connections.len());
        }
        (self.eviction_hand, self.release_hand) = (0, 0);
    }

    /// Removes an index, or replaces it by another.
    fn replace_in_index(&mut self, at: usize, by: Option<usize>) {
        let hash = self.hasher.hash_one(self.connections[at].key);
        if let Ok(mut entry) = self.index.find_entry(hash, |place| *place as usize == at) {
            match by {
                Some(by) => *entry.get_mut() = by as u32,
                None => _ = entry.remove(),
            }
        }
    }

    /// Closes all connections, in order of appearance.
    pub fn finish(&mut self, sink: &mut impl StreamSink) {
        let mut connections = std::mem::take(&mut self.connections);
        self.index.clear();
        self.held = 0;
        connections.sort_unstable_by_key(|connection| connection.id);
        for connection in &mut connections {
            if !connection.is_over() {
                connection.close(Ending::CaptureEnd, connection.span.last, sink);
                self.counts.add(&connection.totals());
            }
        }
    }

    /// Counters so far; gaps of connections that have ended.
    #[must_use]
    pub const fn counts(&self) -> TcpCounts {
        self.counts
    }

    /// Adds what was lost to `health`.
    pub fn add_health(&self, health: &mut Health) {
        let counts = &self.counts;
        health.add(HealthEvent::TcpEvictedConnections, counts.evicted_connections);
        health.add(HealthEvent::TcpGaps, counts.gaps);
        health.add(HealthEvent::TcpHoldOverflows, counts.hold_overflows);
        health.add(HealthEvent::TcpLateSegments, counts.late_segments);
        health.add(HealthEvent::TcpMissingBytes, counts.missing_bytes);
        health.add(HealthEvent::TcpStraySegments, counts.stray_segments);
    }

    fn index_of(&self, key: &ConnectionKey) -> Option<usize> {
        let at = self
            .index
            .find(self.hasher.hash_one(key), |at| self.connections[*at as usize].key == *key)?;
        Some(*at as usize)
    }

    /// Inserts a connection, replacing its predecessor or an evicted one, or at a new index.
    fn put(
        &mut self,
        new: Connection,
        replaced: Option<usize>,
        frame: &Frame<'_>,
        sink: &mut impl StreamSink,
    ) -> usize {
        if let Some(at) = replaced {
            self.close(at, Ending::Replaced, frame, sink);
            self.connections[at] = new;
            return at;
        }
        let hash = self.hasher.hash_one(new.key);
        let at = if self.connections.len() < self.config.connection_capacity {
            self.connections.push(new);
            self.connections.len() - 1
        } else {
            let at = self.longest_silent();
            if !self.connections[at].is_over() {
                self.counts.evicted_connections += 1;
                self.close(at, Ending::Evicted, frame, sink);
            }
            let old_hash = self.hasher.hash_one(self.connections[at].key);
            if let Ok(entry) = self.index.find_entry(old_hash, |place| *place as usize == at) {
                entry.remove();
            }
            self.connections[at] = new;
            at
        };
        let (connections, hasher) = (&self.connections, &self.hasher);
        self.index
            .insert_unique(hash, at as u32, |at| hasher.hash_one(connections[*at as usize].key));
        at
    }

    fn close(&mut self, at: usize, ending: Ending, frame: &Frame<'_>, sink: &mut impl StreamSink) {
        let connection = &mut self.connections[at];
        if connection.is_over() {
            return;
        }
        self.held -= connection.held();
        connection.close(ending, frame.time, sink);
        self.counts.add(&connection.totals());
    }

    fn longest_silent(&mut self) -> usize {
        let count = self.connections.len();
        let start = self.eviction_hand;
        self.eviction_hand = (start + EVICTION_SAMPLE) % count;
        (0..EVICTION_SAMPLE.min(count))
            .map(|ahead| (start + ahead) % count)
            .min_by_key(|at| {
                let connection = &self.connections[*at];
                (!connection.is_over(), connection.span.last)
            })
            .unwrap_or(start)
    }

    /// Lets the next connection that holds data stop waiting.
    fn release_one(&mut self, sink: &mut impl StreamSink) {
        let count = self.connections.len();
        for _ in 0..count {
            let connection = &mut self.connections[self.release_hand];
            self.release_hand = (self.release_hand + 1) % count;
            let held = connection.held();
            if held > 0 {
                connection.give_up_waiting(sink);
                self.held -= held;
                self.counts.hold_overflows += 1;
                return;
            }
        }
        self.held = 0;
    }
}
