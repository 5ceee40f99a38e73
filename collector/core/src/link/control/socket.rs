//! NET/Socket data connections (NCCL `src/transport/net_socket.cc`): the socket's index, then data,
//! which is only counted.

use super::ends::{Ends, Progress, Speaker};
use super::facts::{ControlFacts, SocketConnection};
use crate::decode::nccl::greeting::Greeting;
use crate::flow::tcp_stream::sink::StreamTotals;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// One of the sockets of a NET/Socket connection; the first byte on it is its index.
#[derive(Clone, Debug)]
pub(super) struct Socket {
    index: Option<(u8, Witness)>,
    bytes: u64,
    span: Span,
}

impl Socket {
    pub(super) const fn new(span: Span) -> Self {
        Self { index: None, bytes: 0, span }
    }

    pub(super) fn bytes(&mut self, from: Speaker, bytes: &[u8], witness: Witness) -> Progress {
        if let (Speaker::Connector, [index, data @ ..]) = (from, bytes) {
            self.index = Some((*index, witness));
            self.bytes = data.len() as u64;
            return Progress::Done;
        }
        Progress::More
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
            witness,
        });
    }
}
