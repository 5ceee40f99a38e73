//! The two ends of a connection, and a dialect's verdict on its bytes.

use std::net::SocketAddr;

use crate::flow::tcp_stream::sink::{Chunk, Side, TcpConnection};
use crate::model::tap::TapId;
use crate::model::witness::Witness;

/// Both ends of a connection. The connector greets, so it is known even without a SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) tap: TapId,
    pub(super) connector: SocketAddr,
    pub(super) listener: SocketAddr,
    connector_side: Side,
}

/// The sending end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    Connector,
    Listener,
}

/// A dialect's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It needs more bytes.
    More,
    /// It has everything.
    Done,
    /// This is not the dialect, or an unknown release of it.
    Malformed,
    /// More bytes than anybody would send.
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

    /// The frame that contained `chunk`.
    pub(super) const fn witness(&self, chunk: &Chunk<'_>) -> Witness {
        Witness::Frame { tap: self.tap, number: chunk.number, time: chunk.time }
    }
}
