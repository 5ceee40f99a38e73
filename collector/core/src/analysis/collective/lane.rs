//! A connection's messages as the search reads them: in order, with placeholders for missing ones,
//! and with whether their CTSs allow a collective to begin there.

use super::slicing::{LL_CAPACITY, LL128_CAPACITY};
use super::thresholds::{CAPACITY_WITHIN, HOLE_LIMIT};
use crate::link::job::{NetConnection, NetConnectionId, Transfer};
use crate::model::nccl::{Graph, Protocol};
use crate::model::time::Timestamp;

/// A message as the search for collectives needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Message {
    /// Bytes on the wire; `None` if they were not seen.
    pub bytes: Option<u64>,
    /// Bytes that the CTS offers; of LL and LL128 without a CTS, what one would offer. `None` if
    /// unknown.
    pub capacity: Option<u64>,
    /// The CTS came after the previous message had ended, as it does between two collectives: NCCL's
    /// proxy starts the next one on a connection once the previous one is done (`proxy.cc`). Within
    /// a collective, CTSs run ahead of the data. `None` if the two were not seen at one tap.
    pub is_fenced: Option<bool>,
    /// When its CTS passed, at one tap.
    pub offered: Option<Timestamp>,
    /// Where its CTS asks for it.
    pub address: Option<u64>,
    /// First packet.
    pub first: Option<Timestamp>,
    /// Last packet.
    pub last: Option<Timestamp>,
    /// Digest of its first bytes.
    pub head: Option<u64>,
    /// Index in the connection's transfers; for a message that was not captured, of the next one
    /// that was.
    pub place: usize,
    /// Its number on the connection.
    pub number: u64,
}

/// One connection.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The connection that it stands for.
    pub connection: NetConnectionId,
    /// Rank that sends.
    pub sender: Option<u32>,
    /// Rank that receives.
    pub receiver: Option<u32>,
    /// What it was built for.
    pub graph: Option<Graph>,
    /// Its messages in order, with placeholders for those not captured.
    pub messages: Vec<Message>,
    /// Its first message is the first of the connection.
    pub is_from_start: bool,
    /// The receiver asked for more than was seen.
    pub is_unanswered: bool,
    /// Captured transfers.
    pub transfer_count: usize,
}

impl Lane {
    /// The messages of `connection`.
    #[must_use]
    pub fn new(id: NetConnectionId, connection: &NetConnection) -> Self {
        let transfers = &connection.transfers;
        let mut messages: Vec<Message> = Vec::with_capacity(transfers.len());
        let mut before: Option<&Transfer> = None;
        for (place, transfer) in transfers.iter().enumerate() {
            if let Some(before) = before {
                let missing = transfer.number.saturating_sub(before.number).saturating_sub(1);
                if (1..=HOLE_LIMIT).contains(&missing) {
                    messages.extend((1..=missing).map(|ahead| Message {
                        place,
                        number: before.number + ahead,
                        ..Message::default()
                    }));
                }
            }
            messages.push(Message {
                bytes: transfer.bytes,
                capacity: capacity(transfer),
                is_fenced: before.and_then(|before| fence(before, transfer)),
                address: transfer.cts.map(|cts| cts.address),
                offered: transfer.cts.and_then(|cts| cts.posted.or(cts.arrived)),
                first: transfer.first_time(),
                last: transfer.last_time(),
                head: transfer.head,
                place,
                number: transfer.number,
            });
            before = Some(transfer);
        }
        Self {
            connection: id,
            sender: connection.sender,
            receiver: connection.receiver,
            graph: connection.graph,
            messages,
            is_from_start: transfers
                .first()
                .is_some_and(|first| first.number == 1 && first.is_numbered),
            is_unanswered: connection.unanswered.is_some(),
            transfer_count: transfers.len(),
        }
    }

    /// The message at index `at`; `None` beyond the last.
    #[must_use]
    pub fn message(&self, at: usize) -> Option<&Message> {
        self.messages.get(at)
    }

    /// Messages from `at` on.
    #[must_use]
    pub fn remaining(&self, at: usize) -> usize {
        self.messages.len().saturating_sub(at)
    }

    /// When the first message at or after `at` began.
    #[must_use]
    pub fn time_at(&self, at: usize) -> Option<Timestamp> {
        self.messages.get(at..)?.iter().find_map(|message| message.first)
    }

    /// What the CTS of the first message at or after `at` offers, if one was captured soon after.
    #[must_use]
    pub fn capacity_at(&self, at: usize) -> Option<u64> {
        self.messages.get(at..)?.iter().take(CAPACITY_WITHIN).find_map(|message| message.capacity)
    }

    /// Place in the transfers of the message at `at`.
    #[must_use]
    pub fn place_at(&self, at: usize) -> usize {
        self.messages.get(at).map_or(self.transfer_count, |message| message.place)
    }

    /// Whether the message at `at` is proven to begin a collective: as
    /// [`fence_at`](Self::fence_at), but that the first one that was seen does only if it is the
    /// first of the connection.
    #[must_use]
    pub fn begins_at(&self, at: usize) -> Option<bool> {
        let message = self.messages.get(at)?;
        if at == 0 { Some(self.is_from_start) } else { message.is_fenced }
    }

    /// Whether this connection's CTSs allow a collective to begin at `at`; the first message and
    /// the end always do.
    #[must_use]
    pub fn fence_at(&self, at: usize) -> Option<bool> {
        match self.messages.get(at) {
            _ if at == 0 => Some(true),
            None => Some(true),
            Some(message) => message.is_fenced,
        }
    }
}

fn capacity(transfer: &Transfer) -> Option<u64> {
    let by_protocol = || match transfer.protocol? {
        Protocol::Ll => Some(LL_CAPACITY),
        Protocol::Ll128 => Some(LL128_CAPACITY),
        Protocol::Simple | Protocol::Unknown => None,
    };
    transfer.cts.map(|cts| cts.capacity).or_else(by_protocol)
}

/// Whether the CTS of `transfer` came after the data of the transfer `before` it, both at one tap.
fn fence(before: &Transfer, transfer: &Transfer) -> Option<bool> {
    if before.number + 1 != transfer.number {
        return None;
    }
    let cts = transfer.cts?;
    let at_receiver = cts.posted.zip(before.received).map(|(cts, data)| cts > data.last);
    let at_sender = cts.arrived.zip(before.sent).map(|(cts, data)| cts > data.last);
    at_receiver.or(at_sender)
}
