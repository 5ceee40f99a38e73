//! What the streams deliver, and to whom.

use std::net::SocketAddr;

use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Number of a TCP connection in one run, in order of appearance. Numbers are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Which end of a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The connecting end: the sender of the SYN; without a SYN, the first sender.
    Client,
    /// The accepting end.
    Server,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A TCP connection as one tap sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpConnection {
    /// The tap that sees it.
    pub tap: TapId,
    /// The end that connects.
    pub client: SocketAddr,
    /// The end that accepts.
    pub server: SocketAddr,
    /// A SYN was seen, so the ends are certain and bytes are counted from the first one.
    pub is_from_start: bool,
}

/// Consecutive bytes of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Payload, in order, without gaps.
    pub bytes: &'a [u8],
    /// When their frame passed the tap.
    pub time: Timestamp,
    /// Number of that frame in its file, from 1.
    pub number: u64,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both directions ended with a FIN.
    Finished,
    /// An end reset it.
    Reset,
    /// A new connection between the same ports began.
    Replaced,
    /// Evicted for another connection.
    Evicted,
    /// It was still open when the capture ended.
    CaptureEnd,
}

/// Totals of one direction, whether or not anybody listened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionTotals {
    /// Bytes sent, each counted once.
    pub bytes: u64,
    /// Bytes not captured while somebody listened.
    pub missing_bytes: u64,
    /// Ranges of such bytes.
    pub gaps: u64,
    /// Payload that was sent again after timeouts, since the other end answered anything.
    pub unanswered: Option<Unanswered>,
    /// Payload that was not sent before.
    pub advance: Option<Advance>,
}

/// When payload passed that was not sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// The latest.
    pub latest: Timestamp,
    /// The longest time without any before it, in nanoseconds.
    pub longest_rest_ns: u64,
}

impl Advance {
    /// With more at `time`.
    pub(super) fn on(known: Option<Self>, time: Timestamp) -> Self {
        let Some(Self { latest, longest_rest_ns }) = known else {
            return Self { latest: time, longest_rest_ns: 0 };
        };
        let longest_rest_ns = longest_rest_ns.max(time.nanos_since(latest));
        Self { latest: latest.max(time), longest_rest_ns }
    }
}

/// Payload that is sent again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// How often, after a timeout each.
    pub tries: u64,
    /// The first of these.
    pub since: Timestamp,
}

/// Totals of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTotals {
    /// What the client sent.
    pub client: DirectionTotals,
    /// What the server sent.
    pub server: DirectionTotals,
    /// First and last frame.
    pub span: Span,
}

/// Whether the listener wants more of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Continue.
    More,
    /// No more bytes of this direction: they are only counted.
    Enough,
}

/// Receives what the streams deliver.
pub trait StreamSink {
    /// A new connection was found.
    fn opened(&mut self, id: ConnectionId, connection: &TcpConnection);

    /// The next bytes that `from` sends, in order, each byte once.
    fn bytes(&mut self, id: ConnectionId, from: Side, chunk: Chunk<'_>) -> Interest;

    /// `bytes` bytes that `from` sent were not captured.
    fn gap(&mut self, id: ConnectionId, from: Side, bytes: u64) -> Interest;

    /// From `time` on, `of` takes no more data (`is_closed`), or takes data again: it changed its
    /// receive window to or from 0.
    fn window(&mut self, _id: ConnectionId, _of: Side, _is_closed: bool, _time: Timestamp) {}

    /// Totals of a connection, reported right before it is closed.
    fn totals(&mut self, _id: ConnectionId, _totals: &StreamTotals) {}

    /// Nothing more will arrive.
    fn closed(&mut self, id: ConnectionId, ending: Ending, time: Timestamp);
}

/// Ignores everything.
impl StreamSink for () {
    fn opened(&mut self, _: ConnectionId, _: &TcpConnection) {}

    fn bytes(&mut self, _: ConnectionId, _: Side, _: Chunk<'_>) -> Interest {
        Interest::Enough
    }

    fn gap(&mut self, _: ConnectionId, _: Side, _: u64) -> Interest {
        Interest::Enough
    }

    fn closed(&mut self, _: ConnectionId, _: Ending, _: Timestamp) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rest_is_between_two_payloads() {
        let times = [1_000, 1_500, 1_400, 5_000, 5_100].map(Timestamp::from_nanos);
        let advance = times.into_iter().fold(None, |known, time| Some(Advance::on(known, time)));
        let (latest, longest_rest_ns) = (Timestamp::from_nanos(5_100), 3_500);
        assert_eq!(advance, Some(Advance { latest, longest_rest_ns }));
    }
}
