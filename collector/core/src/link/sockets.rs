//! Connections over NET/Socket: messages on TCP, joined over taps.
//!
//! The receiver of data listens, one port a connection, and the transport set-up tells the sender
//! where; so the port names ranks and channel, as it does for NET/IB's exchange. There is no
//! clear-to-send: TCP's window holds the sender back.
//!
//! Where pieces of messages are spread over several sockets (`NCCL_NSOCKS_PERTHREAD`), when a message
//! began and ended is not known. Such connections are counted, not read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU64;

use super::control::facts::{SocketConnection, SocketMessage};
use super::job::{SocketPair, Transfer};
use super::position::{Position, TapPosition, common_host};
use crate::model::address::HostAddress;
use crate::model::tap::TapId;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// A connection whose ranks are not known yet.
#[derive(Clone, Debug)]
pub(super) struct SocketDraft {
    /// Its ends, and when the receiver took no data.
    pub(super) pair: SocketPair,
    /// Its messages.
    pub(super) transfers: Vec<Transfer>,
    /// All frames.
    pub(super) span: Span,
    /// The greeting.
    pub(super) witness: Witness,
}

/// The connections of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketDrafts {
    /// Those whose messages were read.
    pub(super) drafts: Vec<SocketDraft>,
    /// How many were not, or only in part.
    pub(super) unread: u64,
}

impl SocketDrafts {
    /// Those in `sockets`, which the taps at `positions` saw.
    pub(super) fn new(sockets: &[SocketConnection], positions: &[TapPosition]) -> Self {
        let near = Near::new(sockets, positions);
        let is_spread: BTreeSet<SocketAddr> = sockets
            .iter()
            .filter(|socket| socket.index > 0)
            .map(|socket| socket.listener)
            .collect();
        let mut found = Self::default();
        for views in connections(sockets) {
            let Some(first) = views.first() else { continue };
            let is_spread = is_spread.contains(&first.listener);
            // Each counts once, however many sockets it has.
            found.unread += u64::from(if is_spread {
                first.index == 0
            } else {
                views.iter().all(|view| view.is_lost)
            });
            if !is_spread {
                found.drafts.push(draft(first, &views, &near));
            }
        }
        found
    }
}

/// The views of each TCP connection: each tap saw it once, and those between the same ends in the same
/// order.
fn connections(sockets: &[SocketConnection]) -> Vec<Vec<&SocketConnection>> {
    let mut by_ends: BTreeMap<(SocketAddr, SocketAddr), Vec<Vec<&SocketConnection>>> =
        BTreeMap::new();
    for socket in sockets {
        let known = by_ends.entry((socket.connector, socket.listener)).or_default();
        let is_new = |views: &&mut Vec<&SocketConnection>| {
            views.iter().all(|view| tap_of(view) != tap_of(socket))
        };
        match known.iter_mut().find(is_new) {
            Some(views) => views.push(socket),
            None => known.push(vec![socket]),
        }
    }
    by_ends.into_values().flatten().collect()
}

const fn tap_of(socket: &SocketConnection) -> Option<TapId> {
    match socket.witness {
        Witness::Frame { tap, .. } => Some(tap),
        Witness::Line { .. } | Witness::Sample { .. } => None,
    }
}

/// The host whose own link each tap observes, as RDMA shows it, else as these connections do: they all
/// have one host in common.
struct Near<'a> {
    positions: &'a [TapPosition],
    hosts: BTreeMap<TapId, HostAddress>,
}

impl<'a> Near<'a> {
    fn new(sockets: &[SocketConnection], positions: &'a [TapPosition]) -> Self {
        let mut pairs: BTreeMap<TapId, Vec<(HostAddress, HostAddress)>> = BTreeMap::new();
        for socket in sockets {
            let ends = (socket.connector.ip().into(), socket.listener.ip().into());
            if let Some(tap) = tap_of(socket) {
                pairs.entry(tap).or_default().push(ends);
            }
        }
        let common = |(tap, pairs): (TapId, Vec<_>)| Some((tap, common_host(pairs.into_iter())?));
        let hosts = pairs.into_iter().filter_map(common);
        Self { positions, hosts: hosts.collect() }
    }

    fn position(&self, socket: &SocketConnection) -> Position {
        let Some(tap) = tap_of(socket) else { return Position::Unknown };
        let [sender, receiver] = [socket.connector, socket.listener].map(|end| end.ip().into());
        let known = self.positions.get(tap.0 as usize).map(|at| at.for_flow(sender, receiver));
        match (known, self.hosts.get(&tap)) {
            (Some(known @ (Position::Sender | Position::Receiver)), _) => known,
            (_, Some(host)) if *host == sender => Position::Sender,
            (_, Some(host)) if *host == receiver => Position::Receiver,
            _ => known.unwrap_or(Position::Unknown),
        }
    }
}

/// The connection that `views` saw, of which `first` is one.
fn draft(first: &SocketConnection, views: &[&SocketConnection], near: &Near<'_>) -> SocketDraft {
    let at =
        |position: Position| views.iter().copied().find(|view| near.position(view) == position);
    let (sender, receiver) = (at(Position::Sender), at(Position::Receiver));
    // A tap next to neither end stands for both, the same one for all connections: others may have
    // other clocks.
    let lowest = || views.iter().copied().min_by_key(|view| tap_of(view));
    let elsewhere = if sender.or(receiver).is_none() { lowest() } else { None };
    let (sender, receiver) = (sender.or(elsewhere), receiver.or(elsewhere));
    let best = sender.or(receiver).unwrap_or(first);
    let mut transfers: BTreeMap<u64, Transfer> = BTreeMap::new();
    for view in [sender, receiver].into_iter().flatten() {
        let tap = tap_of(view).unwrap_or_default();
        for message in view.messages.iter() {
            let transfer = transfers.entry(message.number).or_insert_with(|| fresh(message, tap));
            if sender.is_some_and(|sender| std::ptr::eq(sender, view)) {
                transfer.sent = Some(message.span);
            }
            if receiver.is_some_and(|receiver| std::ptr::eq(receiver, view)) {
                transfer.received = Some(message.span);
            }
            transfer.head = transfer.head.or(message.head.map(NonZeroU64::get));
            transfer.protocol = transfer.protocol.or(message.protocol);
        }
    }
    let ends = SocketPair {
        sender: first.connector,
        receiver: first.listener,
        departure_tap: sender.and_then(tap_of),
        closed: best.closed.iter().copied().collect(),
        stall: best.stall,
        advance: best.advance,
        tap: tap_of(best),
        is_lost: best.is_lost,
    };
    let span = views.iter().map(|view| view.span).fold(first.span, |one, other| Span {
        first: one.first.min(other.first),
        last: one.last.max(other.last),
    });
    let transfers = transfers.into_values().collect();
    SocketDraft { pair: ends, transfers, span, witness: first.witness }
}

fn fresh(message: &SocketMessage, tap: TapId) -> Transfer {
    let SocketMessage { number, span, bytes, frame, .. } = *message;
    let witness = Witness::Frame { tap, number: frame.into(), time: span.last };
    Transfer { bytes: Some(bytes.into()), ..Transfer::new(number, true, witness) }
}
