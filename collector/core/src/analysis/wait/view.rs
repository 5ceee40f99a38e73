//! The messages of one connection as one tap saw them: next to the sender if possible, else next to
//! the receiver.

use std::ops::Range;

use crate::link::job::{NetConnection, SocketPair, Transfer};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Messages of one connection at one of its ends.
#[derive(Clone, Debug)]
pub struct View<'a> {
    all: &'a [Transfer],
    places: Range<usize>,
    side: Side,
    socket: Option<&'a SocketPair>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

/// A message as one tap saw it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its number on the connection.
    pub number: u64,
    /// When its clear-to-send passed; `None` if that was not seen.
    pub cts: Option<Timestamp>,
    /// First packet.
    pub first: Timestamp,
    /// Last packet.
    pub last: Timestamp,
    /// Its last frame.
    pub witness: Witness,
}

impl<'a> View<'a> {
    /// The messages at `places` of `connection`; `None` if neither end saw all of them.
    #[must_use]
    pub fn new(connection: &'a NetConnection, places: Range<usize>) -> Option<Self> {
        let transfers = connection.transfers.get(places.clone())?;
        let side = [Side::Sender, Side::Receiver]
            .into_iter()
            .find(|side| transfers.iter().all(|transfer| side.span(transfer).is_some()))?;
        let all = &connection.transfers;
        let socket = connection.socket.as_ref();
        (!transfers.is_empty()).then_some(Self { all, places, side, socket })
    }

    /// The messages at `places` as a tap next to the receiver saw all of them.
    #[must_use]
    pub fn of_receiver(connection: &'a NetConnection, places: Range<usize>) -> Option<Self> {
        let transfers = connection.transfers.get(places.clone())?;
        let is_seen = transfers.iter().all(|transfer| transfer.received.is_some());
        let all = &connection.transfers;
        let (side, socket) = (Side::Receiver, connection.socket.as_ref());
        (is_seen && !transfers.is_empty()).then_some(Self { all, places, side, socket })
    }

    /// The tap is next to the sender, or saw what such a tap sees.
    #[must_use]
    pub fn is_of_sender(&self) -> bool {
        self.side == Side::Sender
    }

    /// The TCP connection that carries them, over NET/Socket: no clear-to-send requests data.
    #[must_use]
    pub const fn socket(&self) -> Option<&'a SocketPair> {
        self.socket
    }

    /// The messages in order.
    pub fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        self.transfers().iter().filter_map(|transfer| self.message(transfer))
    }

    /// The messages as they were linked.
    #[must_use]
    pub fn transfers(&self) -> &'a [Transfer] {
        self.all.get(self.places.clone()).unwrap_or_default()
    }

    /// The last packet of the message before the first.
    #[must_use]
    pub fn end_before(&self) -> Option<Timestamp> {
        let before = self.all.get(self.places.start.checked_sub(1)?)?;
        Some(self.side.span(before)?.last)
    }

    /// The first packet of the message after the last.
    #[must_use]
    pub fn start_after(&self) -> Option<Timestamp> {
        Some(self.side.span(self.all.get(self.places.end)?)?.first)
    }

    fn message(&self, transfer: &Transfer) -> Option<Message> {
        let span = self.side.span(transfer)?;
        let cts = transfer.cts.and_then(|cts| match self.side {
            Side::Sender => cts.arrived,
            Side::Receiver => cts.posted,
        });
        let Transfer { number, witness, .. } = *transfer;
        Some(Message { number, cts, first: span.first, last: span.last, witness })
    }
}

impl Side {
    const fn span(self, transfer: &Transfer) -> Option<Span> {
        match self {
            Self::Sender => transfer.sent,
            Self::Receiver => transfer.received,
        }
    }
}
