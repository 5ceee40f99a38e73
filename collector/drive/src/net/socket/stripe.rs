//! The TCP connections of a link, and how messages are striped over them.

use std::net::TcpStream;
use std::ops::Range;

use super::super::LinkFacts;
use super::direction::Direction;

/// Smallest piece in bytes (`NCCL_SOCKET_MIN_TASKSIZE`).
const LEAST: usize = 64 << 10;

/// Connections of one end of a link.
#[derive(Debug)]
pub(super) struct Connections {
    control: TcpStream,
    data: Vec<TcpStream>,
    /// The data connection for the next piece, across all messages.
    next: usize,
}

/// One of a link's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceSocket {
    /// Sizes, and small messages.
    Control,
    /// The data connection of this number.
    Data(usize),
}

/// The part of a message on one connection.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub place: PieceSocket,
    /// What remains of it in the buffer.
    pub left: Range<usize>,
}

impl Connections {
    pub(super) fn new(control: TcpStream, data: Vec<TcpStream>) -> Self {
        Self { control, data, next: 0 }
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = &TcpStream> {
        std::iter::once(&self.control).chain(&self.data)
    }

    pub(super) fn stream(&self, place: PieceSocket) -> &TcpStream {
        match place {
            PieceSocket::Control => &self.control,
            PieceSocket::Data(number) => &self.data[number],
        }
    }

    /// Cuts the rest of a message after its head.
    pub(super) fn cut(&mut self, left: Range<usize>) -> Vec<Piece> {
        if left.is_empty() {
            return Vec::new();
        }
        if self.data.is_empty() {
            return vec![Piece { place: PieceSocket::Control, left }];
        }
        let size = left.len().div_ceil(self.data.len()).max(LEAST);
        let pieces = left.clone().step_by(size).map(|begin| {
            let place = PieceSocket::Data(self.next);
            self.next = (self.next + 1) % self.data.len();
            Piece { place, left: begin..(begin + size).min(left.end) }
        });
        pieces.collect()
    }

    /// Addresses of the control connection.
    pub(super) fn facts(&self, direction: Direction) -> LinkFacts {
        let (here, there) = (self.control.local_addr().ok(), self.control.peer_addr().ok());
        let (connector, listener) = match direction {
            Direction::Out => (here, there),
            Direction::In => (there, here),
        };
        LinkFacts { connector, listener, ..LinkFacts::default() }
    }
}
