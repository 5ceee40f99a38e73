//! Who is who on a connection, and what a dialect makes of the bytes that it is given.

use std::net::SocketAddr;

use crate::flow::tcp_stream::sink::{Chunk, Side, TcpConnection};
use crate::model::tap::TapId;
use crate::model::witness::Witness;

/// Both ends of a connection. The connector greets, so that it is known even where no SYN was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) tap: TapId,
    pub(super) connector: SocketAddr,
    pub(super) listener: SocketAddr,
    connector_side: Side,
}

/// Which end speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Connector,
    Listener,
}

/// What a dialect makes of what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It wants to hear more.
    More,
    /// It knows all that there is to know.
    Done,
    /// This is not the dialect, or one of a release that is not known.
    Malformed,
    /// There is more than anybody would send.
    Oversized,
}

impl Ends {
    /// The ends of `connection` if `side` connects.
    pub(super) const fn new(connection: &TcpConnection, side: Side) -> Self {
        let (connector, listener) = match side {
            Side::Client => (connection.client, connection.server),
            Side::Server => (connection.server, connection.client),
        };
        Self { tap: connection.tap, connector, listener, connector_side: side }
    }

    pub(super) fn speaker(&self, side: Side) -> Speaker {
        if side == self.connector_side { Speaker::Connector } else { Speaker::Listener }
    }

    /// The frame that brought `chunk`.
    pub(super) const fn witness(&self, chunk: &Chunk<'_>) -> Witness {
        Witness::Frame { tap: self.tap, number: chunk.number, time: chunk.time }
    }
}
