//! One TCP connection: which end is the client, when a new connection replaces it, when it ends.

use std::net::{IpAddr, SocketAddr};

use super::half::{Half, Payload, Piece, Reception};
use super::sink::{ConnectionId, Ending, Interest, Side, StreamSink, StreamTotals, TcpConnection};
use crate::decode::packet::{TcpFlags, TcpSegment};
use crate::model::address::HostAddress;
use crate::model::frame::Frame;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// How long a port stays unused after a connection (Linux's TIME-WAIT, 60 s): within it, a segment
/// without a SYN is late; after it, the segment belongs to a connection whose SYN was not captured.
pub(super) const REST_NS: u64 = 60_000_000_000;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct End {
    address: HostAddress,
    port: u16,
}

impl End {
    /// The end with this address and port.
    pub(super) fn new(address: IpAddr, port: u16) -> Self {
        Self { address: address.into(), port }
    }

    fn socket(self) -> SocketAddr {
        SocketAddr::new(self.address.to_ip(), self.port)
    }
}

/// Identifies a connection in both directions: the lower end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ConnectionKey {
    tap: TapId,
    low: End,
    high: End,
}

impl ConnectionKey {
    /// The key of the connection between two ends, in any order.
    pub(super) fn new(tap: TapId, one: End, other: End) -> Self {
        Self { tap, low: one.min(other), high: one.max(other) }
    }
}

/// A known connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// The same for both directions.
    pub(super) key: ConnectionKey,
    /// What the sink knows it by.
    pub(super) id: ConnectionId,
    /// First and last frame.
    pub(super) span: Span,
    client: End,
    is_from_start: bool,
    client_half: Half,
    server_half: Half,
    /// The windows of client and server are 0.
    is_client_closed: bool,
    is_server_closed: bool,
    is_over: bool,
}

impl Connection {
    /// The connection that `segment` from `source` opens; `None` if it neither opens one nor has
    /// payload.
    pub(super) fn opened_by(
        segment: &TcpSegment<'_>,
        [source, destination]: [End; 2],
        id: ConnectionId,
        frame: &Frame<'_>,
    ) -> Option<Self> {
        let is_syn = segment.flags.has(TcpFlags::SYN);
        if segment.flags.has(TcpFlags::RST) || (!is_syn && segment.payload_len == 0) {
            return None;
        }
        let is_answer = is_syn && segment.flags.has(TcpFlags::ACK);
        Some(Self {
            key: ConnectionKey::new(frame.tap, source, destination),
            id,
            span: Span { first: frame.time, last: frame.time },
            client: if is_answer { destination } else { source },
            is_from_start: is_syn,
            client_half: Half::default(),
            server_half: Half::default(),
            is_client_closed: false,
            is_server_closed: false,
            is_over: false,
        })
    }

    /// The connection as the sink sees it.
    pub(super) fn describe(&self) -> TcpConnection {
        let ConnectionKey { tap, low, high } = self.key;
        let server = if self.client == low { high } else { low };
        TcpConnection {
            tap,
            client: self.client.socket(),
            server: server.socket(),
            is_from_start: self.is_from_start,
        }
    }

    /// Whether it was closed: nothing more is delivered.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Bytes held back until missing ones arrive.
    pub(super) const fn held(&self) -> usize {
        self.client_half.held() + self.server_half.held()
    }

    /// Whether `segment` from `source` belongs to a later connection between the same ends.
    pub(super) fn is_replaced_by(
        &self,
        segment: &TcpSegment<'_>,
        source: End,
        time: Timestamp,
    ) -> bool {
        if segment.flags.has(TcpFlags::RST) {
            return false;
        }
        if !segment.flags.has(TcpFlags::SYN) {
            let has_rested = time.nanos_since(self.span.last) > REST_NS;
            return self.is_over && has_rested && segment.payload_len > 0;
        }
        let half = match self.side_of(source) {
            Side::Client => &self.client_half,
            Side::Server => &self.server_half,
        };
        match half.starts_at(segment.sequence.wrapping_add(1)) {
            Some(is_same) => !is_same,
            // A SYN can only follow the other end's SYN, in a simultaneous open.
            None => !self.is_from_start,
        }
    }

    /// Processes a segment from `source`; returns how the connection ended, if it did.
    pub(super) fn receive(
        &mut self,
        segment: &TcpSegment<'_>,
        source: End,
        frame: &Frame<'_>,
        limit: usize,
        sink: &mut impl StreamSink,
    ) -> (Reception, Option<Ending>) {
        let side = self.side_of(source);
        let id = self.id;
        self.span.last = self.span.last.max(frame.time);
        if segment.flags.has(TcpFlags::RST) {
            return (Reception::Taken, Some(Ending::Reset));
        }
        let (from, to) = match side {
            Side::Client => (&mut self.client_half, &mut self.server_half),
            Side::Server => (&mut self.server_half, &mut self.client_half),
        };
        // The SYN consumes the number before the first byte.
        let is_syn = segment.flags.has(TcpFlags::SYN);
        let sequence = segment.sequence.wrapping_add(u32::from(is_syn));
        if is_syn {
            from.begin(sequence);
        }
        if segment.flags.has(TcpFlags::ACK) {
            let is_farewell = segment.flags.has(TcpFlags::FIN);
            to.acknowledge(segment.acknowledgment, is_farewell, &mut |piece| {
                deliver(sink, id, side.other(), piece)
            });
        }
        if segment.flags.has(TcpFlags::ACK) && !is_syn {
            let was_closed = match side {
                Side::Client => &mut self.is_client_closed,
                Side::Server => &mut self.is_server_closed,
            };
            let is_closed = segment.window == 0;
            if std::mem::replace(was_closed, is_closed) != is_closed {
                sink.window(id, side, is_closed, frame.time);
            }
        }
        let mut reception = Reception::Taken;
        if segment.payload_len > 0 {
            let payload = Payload {
                sequence,
                bytes: segment.payload,
                len: segment.payload_len,
                time: frame.time,
                number: frame.number,
            };
            reception = from.receive(&payload, limit, &mut |piece| deliver(sink, id, side, piece));
        }
        if segment.flags.has(TcpFlags::FIN) {
            from.end(sequence.wrapping_add(segment.payload_len));
        }
        let is_finished = from.is_finished() && to.is_finished();
        (reception, is_finished.then_some(Ending::Finished))
    }

    /// Delivers what is held back, and reports the missing bytes before it as gaps.
    pub(super) fn give_up_waiting(&mut self, sink: &mut impl StreamSink) {
        let id = self.id;
        self.client_half.give_up_waiting(&mut |piece| deliver(sink, id, Side::Client, piece));
        self.server_half.give_up_waiting(&mut |piece| deliver(sink, id, Side::Server, piece));
    }

    /// Ends the connection, unless it has ended.
    pub(super) fn close(&mut self, ending: Ending, time: Timestamp, sink: &mut impl StreamSink) {
        if self.is_over {
            return;
        }
        self.give_up_waiting(sink);
        self.is_over = true;
        sink.totals(self.id, &self.totals());
        sink.closed(self.id, ending, time);
    }

    /// Totals so far.
    pub(super) const fn totals(&self) -> StreamTotals {
        StreamTotals {
            client: self.client_half.totals(),
            server: self.server_half.totals(),
            span: self.span,
        }
    }

    fn side_of(&self, source: End) -> Side {
        if source == self.client { Side::Client } else { Side::Server }
    }
}

fn deliver(sink: &mut impl StreamSink, id: ConnectionId, from: Side, piece: Piece<'_>) -> Interest {
    match piece {
        Piece::Bytes(chunk) => sink.bytes(id, from, chunk),
        Piece::Gap(bytes) => sink.gap(id, from, bytes),
    }
}
