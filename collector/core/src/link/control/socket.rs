//! NET/Socket data connections (NCCL `src/transport/net_socket.cc`): the socket's index, then messages,
//! or pieces of messages whose sizes are on another socket.
//!
//! Every socket is read as if it carried messages: whether others carry their data is only known once
//! all are open. What is no message ends the reading; the rest is counted.

use std::num::NonZeroU64;

use super::ends::{Ends, Progress, Speaker};
use super::facts::{ControlFacts, SocketConnection, SocketMessage};
use crate::decode::nccl::greeting::Greeting;
use crate::decode::nccl::line_flags::{self, LL128_LINE};
use crate::decode::nccl::net_socket::{self, SIZE_BYTES};
use crate::flow::message::digest;
use crate::flow::tcp_stream::sink::StreamTotals;
use crate::link::job::SocketStall;
use crate::link::traffic::series::Series;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// One of the sockets of a NET/Socket connection; the first byte on it is its index.
#[derive(Clone, Debug)]
pub(super) struct Socket {
    index: Option<(u8, Witness)>,
    bytes: u64,
    span: Span,
    open: Open,
    messages: Series<SocketMessage>,
    /// The receiver's window is 0 since then.
    closed_since: Option<Timestamp>,
    closed: Series<Span>,
    /// When the connection was closed.
    closed_at: Option<Timestamp>,
    /// Messages and closed windows in memory.
    kept: usize,
    /// Something could not be read, nor anything after it.
    is_lost: bool,
}

/// The message that is being sent.
#[derive(Clone, Debug, Default)]
struct Open {
    /// Messages before it.
    before: u64,
    /// Its size, as far as it was sent.
    size: Vec<u8>,
    /// From its first byte to its latest.
    span: Option<Span>,
    /// The latest frame.
    frame: u64,
    /// Its bytes; `None` until all of its size was sent.
    bytes: Option<u32>,
    /// Bytes that were not sent yet.
    left: u64,
    /// Its first bytes.
    head: Vec<u8>,
    /// Bytes at its start are missing, so `head` gets no more.
    is_head_over: bool,
}

impl Socket {
    pub(super) fn new(span: Span) -> Self {
        Self {
            index: None,
            bytes: 0,
            span,
            open: Open::default(),
            messages: Series::default(),
            closed_since: None,
            closed: Series::default(),
            closed_at: None,
            kept: 0,
            is_lost: false,
        }
    }

    pub(super) fn bytes(&mut self, from: Speaker, bytes: &[u8], witness: Witness) -> Progress {
        let (Speaker::Connector, Witness::Frame { number, time, .. }) = (from, witness) else {
            return Progress::More;
        };
        let mut data = bytes;
        if self.index.is_none()
            && let [index, rest @ ..] = bytes
        {
            self.index = Some((*index, witness));
            data = rest;
        }
        self.bytes += data.len() as u64;
        while !data.is_empty() {
            let Some(taken) = self.open.take(data, (time, number)) else { return self.lose() };
            data = data.get(taken..).unwrap_or_default();
            self.complete();
        }
        Progress::More
    }

    /// `bytes` bytes of the sender are missing. Within the data of a message nothing else is.
    pub(super) fn gap(&mut self, from: Speaker, bytes: u64) -> Progress {
        match (from, self.open.bytes) {
            (Speaker::Listener, _) => Progress::More,
            (Speaker::Connector, Some(_)) if bytes <= self.open.left => {
                self.bytes += bytes;
                self.open.left -= bytes;
                self.open.is_head_over = true;
                self.complete();
                Progress::More
            }
            (Speaker::Connector, _) => self.lose(),
        }
    }

    /// What follows cannot be read.
    const fn lose(&mut self) -> Progress {
        self.is_lost = true;
        Progress::Done
    }

    /// The window of `of` closes, or opens again. When it was closed only matters beside messages.
    pub(super) fn window(&mut self, of: Speaker, is_closed: bool, time: Timestamp) {
        if of == Speaker::Connector {
            return;
        }
        if is_closed {
            self.closed_since = self.closed_since.or(Some(time));
        } else if let Some(first) = self.closed_since.take().filter(|_| !self.is_lost) {
            self.closed.push(Span { first, last: time });
            self.kept += 1;
        }
    }

    /// Ends the message if it is complete.
    fn complete(&mut self) {
        let (Some(bytes), Some(span), 0) = (self.open.bytes, self.open.span, self.open.left) else {
            return;
        };
        let Open { before, head, frame, .. } = std::mem::take(&mut self.open);
        let number = before + 1;
        self.open.before = number;
        self.messages.push(SocketMessage {
            number,
            span,
            bytes,
            protocol: line_flags::protocol(&head, bytes, number),
            head: digest(&head).and_then(NonZeroU64::new),
            frame: u32::try_from(frame).unwrap_or(u32::MAX),
        });
        self.kept += 1;
    }

    /// Drops what passed before `time`; returns how many messages.
    pub(super) fn forget_before(&mut self, time: Timestamp) -> u64 {
        let messages = self.messages.forget(0, |message| message.span.last < time);
        let closed = self.closed.forget(0, |span| span.last < time);
        self.kept -= messages + closed;
        messages as u64
    }

    /// From the oldest message that is kept to the latest, and their number; `None` without any.
    pub(super) fn messages(&self) -> Option<(Span, usize)> {
        let (first, last) = (self.messages.iter().next()?, self.messages.last()?);
        Some((Span { first: first.span.last, last: last.span.last }, self.kept))
    }

    /// Bytes of memory.
    pub(super) const fn kept(&self) -> usize {
        self.kept * size_of::<SocketMessage>()
    }

    /// The connection is closed.
    pub(super) const fn close(&mut self, time: Timestamp) {
        self.closed_at = Some(time);
    }

    /// Why nothing moves in the end.
    fn stall(&self, totals: Option<&StreamTotals>) -> Option<SocketStall> {
        let lost = totals.and_then(|totals| totals.client.unanswered.or(totals.server.unanswered));
        let (since, tries) = match lost {
            Some(lost) => (lost.since, lost.tries),
            None => (self.closed_since?, 0),
        };
        Some(SocketStall { since, tries, until: self.closed_at })
    }

    pub(super) fn push_fact(
        &self,
        ends: &Ends,
        totals: Option<&StreamTotals>,
        facts: &mut ControlFacts,
    ) {
        let Some((index, witness)) = self.index else { return };
        // Only the sender of data sends.
        let sent = totals.map(|totals| totals.client.bytes.max(totals.server.bytes));
        let greeting = Greeting::LEN as u64 + 1;
        facts.sockets.push(SocketConnection {
            connector: ends.connector,
            listener: ends.listener,
            index,
            bytes: sent.map_or(self.bytes, |sent| sent.saturating_sub(greeting)),
            span: totals.map_or(self.span, |totals| totals.span),
            messages: self.messages.clone(),
            closed: self.closed.clone(),
            stall: self.stall(totals),
            advance: totals.and_then(|totals| totals.client.advance.or(totals.server.advance)),
            is_lost: self.is_lost,
            witness,
        });
    }
}

impl Open {
    /// Takes the next bytes of the message from `data`, which has at least one; returns how many, or
    /// `None` if it is no message.
    fn take(&mut self, data: &[u8], (time, frame): (Timestamp, u64)) -> Option<usize> {
        self.frame = frame;
        let span = self.span.get_or_insert(Span { first: time, last: time });
        // A segment that was lost and sent again comes late.
        span.last = span.last.max(time);
        if self.bytes.is_none() {
            let wanted = SIZE_BYTES.saturating_sub(self.size.len());
            let taken = data.get(..wanted).unwrap_or(data);
            self.size.extend_from_slice(taken);
            if let Ok(size) = <[u8; SIZE_BYTES]>::try_from(&self.size[..]) {
                let bytes = net_socket::message_bytes(size)?;
                self.bytes = Some(bytes);
                self.left = bytes.into();
            }
            return Some(taken.len());
        }
        let taken =
            usize::try_from(self.left).map_or(data, |left| data.get(..left).unwrap_or(data));
        if !self.is_head_over {
            let wanted = LL128_LINE.saturating_sub(self.head.len());
            self.head.extend_from_slice(taken.get(..wanted).unwrap_or(taken));
        }
        self.left -= taken.len() as u64;
        Some(taken.len())
    }
}
