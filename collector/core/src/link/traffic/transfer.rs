//! Transfers of one connection: data messages matched with the CTS that requested them, merged over
//! taps.
//!
//! A CTS names an address and R_Key; the data that answers it goes there (NCCL `net_ib.cc`). NCCL
//! reuses addresses, but a receiver offers one again only after the previous data has arrived. So
//! the latest earlier CTS with the data's address is the right one, at any tap on the path.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use super::record::{CtsRecord, DataRecord, FlowTraffic};
use super::series::Series;
use crate::link::job::{Cts, Transfer, Unanswered};
use crate::link::position::Position;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// PSNs wrap at 2^24.
const PSN_CIRCLE: i64 = 1 << 24;

/// Slots of the CTS FIFO since NCCL 2.19 (`MAX_REQUESTS`), and their distance in bytes since 2.20:
/// they replace numbers removed by the snap length, which happens to long elements only.
const FIFO_SLOTS: u64 = 256;
const FIFO_STRIDE: u64 = 512;

/// Offers at lower addresses that are examined: those of one protocol do not overlap, and there are
/// three protocols.
pub(in crate::link) const OVERLAPPING_OFFERS: usize = 4;

/// One connection as one tap saw it.
#[derive(Clone, Debug)]
pub struct ConnectionView<'a> {
    /// The tap's position relative to the data.
    pub position: Position,
    /// Flows of data, each with the index of its queue pair in the connection.
    pub data: Vec<(u8, &'a FlowTraffic)>,
    /// Flows in the opposite direction.
    pub control: Vec<&'a FlowTraffic>,
}

/// The result for one connection.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// The transfers in order of their numbers.
    pub transfers: Vec<Transfer>,
    /// Data messages with a CTS.
    pub matched: u64,
    /// Data messages without a CTS although some CTSs were seen.
    pub unmatched: u64,
    /// Unanswered CTSs at the end, at the tap with the fewest.
    pub unanswered: Option<Unanswered>,
}

/// The transfers in `views`. `fifo_address` is the start of the sender's CTS FIFO, if known.
#[must_use]
pub fn assemble(views: &[ConnectionView<'_>], fifo_address: Option<u64>) -> Transfers {
    let mut found = Transfers::default();
    let mut unanswered: Option<Option<Unanswered>> = None;
    let messages = |view: &ConnectionView<'_>| -> usize {
        view.data.iter().map(|(_, flow)| flow.data.len()).sum()
    };
    let mut pieces = Vec::with_capacity(views.iter().map(messages).sum());
    for view in views {
        let start = pieces.len();
        add_pieces(view, &mut pieces);
        let (known, seen) = pieces.split_at_mut(start);
        find_offers(view, fifo_address, seen);
        let matched = seen.iter().filter(|piece| piece.cts.is_some()).count();
        found.matched += matched as u64;
        if view.control.iter().any(|flow| !flow.cts.is_empty()) {
            found.unmatched += (seen.len() - matched) as u64;
            let waiting = find_unanswered(view, seen);
            let count = |unanswered: Option<Unanswered>| unanswered.map_or(0, |one| one.count);
            unanswered = Some(match unanswered {
                Some(known) if count(known) <= count(waiting) => known,
                _ => waiting,
            });
        }
        align(known, seen);
    }
    found.unanswered = unanswered.flatten();
    let is_numbered = number(&mut pieces);
    // Parts of one transfer are adjacent, sorted by tap.
    pieces.sort_by_key(|piece| piece.number);
    let immediates = ImmediateOrder::learn(&pieces);
    found.transfers.reserve_exact(pieces.len().div_ceil(views.len().max(1)));
    let transfers = pieces.chunk_by(|one, other| one.number == other.number);
    found.transfers.extend(transfers.filter_map(|parts| merge(parts, is_numbered, immediates)));
    found
}

/// A data message, or its part on one queue pair, at one tap.
struct Piece<'a> {
    queue_pair: u8,
    position: Position,
    tap: TapId,
    /// Packets since the previous message of its flow, from their PSNs.
    packets: u32,
    /// CE-marked packets since the previous message of its flow.
    ce_packets: u32,
    data: &'a DataRecord,
    cts: Option<&'a CtsRecord>,
    /// PSN of its last packet, unwrapped in the same way for all taps.
    last_psn: i64,
    /// 0 if unknown.
    number: u64,
}

/// The data messages of a view, in order of their first packets.
fn add_pieces<'a>(view: &ConnectionView<'a>, pieces: &mut Vec<Piece<'a>>) {
    let start = pieces.len();
    for (queue_pair, flow) in &view.data {
        // A connection's first packet has PSN 0.
        let (mut ce_before, mut psn_before) =
            flow.forgotten.map_or((0, -1), |before| (before.ce_packets, before.last_psn));
        for data in flow.data.iter() {
            pieces.push(Piece {
                queue_pair: *queue_pair,
                position: view.position,
                tap: flow.key.tap,
                packets: u32::try_from(data.last_psn - psn_before).unwrap_or(0),
                ce_packets: data.ce_packets.saturating_sub(ce_before),
                data,
                cts: None,
                last_psn: data.last_psn,
                number: 0,
            });
            ce_before = data.ce_packets;
            psn_before = data.last_psn;
        }
    }
    pieces[start..].sort_by_key(|piece| (piece.data.first(), piece.data.last));
}

/// Finds the CTS that requested each message of a view.
fn find_offers<'a>(view: &ConnectionView<'a>, fifo_address: Option<u64>, pieces: &mut [Piece<'a>]) {
    let offers = view.control.iter().flat_map(|flow| numbered(&flow.cts, fifo_address));
    let mut offers: Vec<(&CtsRecord, u64)> = offers.collect();
    offers.sort_by_key(|(cts, _)| cts.time);
    let mut offers = offers.into_iter().peekable();
    let mut latest: BTreeMap<u64, (&CtsRecord, u64)> = BTreeMap::new();
    let is_cut = pieces.iter().any(|piece| piece.queue_pair != 0);
    for piece in pieces {
        let first = piece.data.first();
        while let Some((cts, number)) = offers.next_if(|(cts, _)| cts.time <= first) {
            latest.insert(cts.address, (cts, number));
        }
        let Some(start) = &piece.data.start else { continue };
        // On one queue pair a message goes to the CTS's address; split over several, its parts
        // follow that address.
        let reach = if is_cut { OVERLAPPING_OFFERS } else { 1 };
        let fitting = latest.range(..=start.address).rev().take(reach);
        let fitting = fitting.filter(|(address, _)| is_cut || **address == start.address);
        let offer = fitting.map(|(_, offer)| *offer).find(|(cts, _)| cts.offers(start));
        if let Some((cts, number)) = offer {
            piece.cts = Some(cts);
            piece.number = number;
        }
    }
}

/// CTSs of a view after the last one that data answers.
fn find_unanswered(view: &ConnectionView<'_>, pieces: &[Piece<'_>]) -> Option<Unanswered> {
    let answered = pieces.iter().filter_map(|piece| piece.cts).map(|cts| cts.time).max();
    let last_data = pieces.iter().map(|piece| piece.data.last).max();
    let forgotten = answered_by_forgotten(view);
    let offers =
        view.control.iter().flat_map(|flow| flow.cts.iter().map(|cts| (cts, flow.key.tap)));
    // Data without a matching CTS may answer any of them.
    let refused = view.data.iter().filter_map(|(_, flow)| flow.refused).max();
    let answered = answered.or(last_data).max(forgotten).max(refused);
    let is_waiting = |cts: &CtsRecord| answered.is_none_or(|answered| cts.time > answered);
    let mut waiting = offers.filter(|(cts, _)| is_waiting(cts));
    let (first, tap) = waiting.next()?;
    let (count, (first, tap)) = waiting.fold((1, (first, tap)), |(count, first), next| {
        (count + 1, if next.0.time < first.0.time { next } else { first })
    });
    let witness = Witness::Frame { tap, number: u64::from(first.number), time: first.time };
    Some(Unanswered { count, time: first.time, witness })
}

/// The latest CTS that dropped data answered: CTSs are kept for longer.
fn answered_by_forgotten(view: &ConnectionView<'_>) -> Option<Timestamp> {
    let forgotten = view.data.iter().filter_map(|(_, flow)| flow.forgotten);
    let answered = |data: DataRecord| {
        let offers = view.control.iter().flat_map(|flow| flow.cts.iter());
        let is_answered = |cts: &&CtsRecord| {
            cts.time <= data.first() && data.start.is_some_and(|start| cts.offers(&start))
        };
        let cts = offers.filter(is_answered).map(|cts| cts.time).max();
        // Dropped, too, or cut off: then all before it are answered.
        cts.unwrap_or(data.last)
    };
    forgotten.map(answered).max()
}

/// CTSs of one flow with their numbers, 0 if unknown. If the snap length removed the number, the
/// FIFO slot gives it, modulo the slots.
fn numbered(
    records: &Series<CtsRecord>,
    fifo_address: Option<u64>,
) -> impl Iterator<Item = (&CtsRecord, u64)> {
    let mut previous = 0;
    records.iter().map(move |cts| {
        let by_slot = || {
            let slot = cts.slot.checked_sub(fifo_address?)? / FIFO_STRIDE;
            Some(previous + slot.wrapping_sub(previous) % FIFO_SLOTS + 1)
        };
        let number = cts.index.map(NonZeroU64::get).or_else(by_slot);
        previous = number.unwrap_or(previous);
        (cts, number.unwrap_or(0))
    })
}

/// Converts the PSNs of one view to those of earlier views: taps that started on different turns of
/// the circle differ by whole turns.
fn align(known: &[Piece<'_>], view: &mut [Piece<'_>]) {
    let queue_pairs: BTreeSet<u8> = view.iter().map(|piece| piece.queue_pair).collect();
    for queue_pair in queue_pairs {
        let on_it = |piece: &&Piece<'_>| piece.queue_pair == queue_pair;
        let Some(first) = view.iter().find(on_it) else { continue };
        let (psn, time) = (first.last_psn, first.data.last);
        let distance = |piece: &&Piece<'_>| {
            piece.data.last.nanos_since(time).max(time.nanos_since(piece.data.last))
        };
        let Some(nearest) = known.iter().filter(on_it).min_by_key(distance) else { continue };
        let turns = (nearest.last_psn - psn + PSN_CIRCLE / 2).div_euclid(PSN_CIRCLE);
        for piece in view.iter_mut().filter(|piece| piece.queue_pair == queue_pair) {
            piece.last_psn += turns * PSN_CIRCLE;
        }
    }
}

/// Numbers every piece. Returns whether the numbers are NCCL's.
fn number(pieces: &mut [Piece<'_>]) -> bool {
    if pieces.iter().all(|piece| piece.number != 0) {
        return true;
    }
    let mut by_psn: BTreeMap<(u8, i64), u64> = BTreeMap::new();
    for piece in &*pieces {
        let known = by_psn.entry((piece.queue_pair, piece.last_psn)).or_default();
        *known = piece.number.max(*known);
    }
    let is_numbered = by_psn.values().any(|number| *number != 0);
    let is_single = pieces.iter().all(|piece| piece.queue_pair == 0);
    if !is_numbered && !is_single {
        // Only time orders the queue pairs.
        let mut order: Vec<(Timestamp, (u8, i64))> = pieces
            .iter()
            .map(|piece| (piece.data.last, (piece.queue_pair, piece.last_psn)))
            .collect();
        order.sort_unstable();
        let mut next = 0;
        for (_, key) in order {
            if let Some(number @ 0) = by_psn.get_mut(&key) {
                next += 1;
                *number = next;
            }
        }
    }
    fill(&mut by_psn);
    for piece in pieces {
        piece.number = by_psn.get(&(piece.queue_pair, piece.last_psn)).copied().unwrap_or_default();
    }
    is_numbered
}

/// Numbers pieces without a CTS from their neighbours on the same queue pair.
fn fill(by_psn: &mut BTreeMap<(u8, i64), u64>) {
    let first = by_psn.values().position(|number| *number != 0);
    let start = by_psn.values().copied().find(|number| *number != 0).unwrap_or(1);
    let mut next = start.saturating_sub(first.unwrap_or(0) as u64).max(1);
    let mut queue_pair = None;
    for ((on, _), number) in by_psn.iter_mut() {
        if queue_pair.is_some_and(|known| known != *on) && *number != 0 {
            next = *number;
        }
        queue_pair = Some(*on);
        if *number == 0 {
            *number = next;
        }
        next = *number + 1;
    }
}

/// How NCCL encodes the size of a message in its immediate: in host order up to 2.28, in network
/// order since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImmediateOrder {
    Host,
    Network,
    Unknown,
}

impl ImmediateOrder {
    /// From the first message whose size is in both its first packet and its immediate.
    fn learn(pieces: &[Piece<'_>]) -> Self {
        let mut orders = pieces.iter().filter_map(|piece| {
            let (start, immediate) = piece.data.start.zip(piece.data.immediate)?;
            match start.bytes {
                0 => None,
                bytes if immediate.swap_bytes() == bytes => Some(Self::Host),
                bytes if immediate == bytes => Some(Self::Network),
                _ => None,
            }
        });
        orders.next().unwrap_or(Self::Unknown)
    }

    fn size(self, immediate: u32) -> Option<u64> {
        match self {
            Self::Host => Some(u64::from(immediate.swap_bytes())),
            Self::Network => Some(u64::from(immediate)),
            Self::Unknown => None,
        }
    }
}

/// The transfer whose pieces at all taps are `parts`.
fn merge(parts: &[Piece<'_>], is_numbered: bool, immediates: ImmediateOrder) -> Option<Transfer> {
    let first = parts.first()?;
    let mut transfer = Transfer {
        bytes: Some(0),
        queue_pair: first.queue_pair,
        ..Transfer::new(first.number, is_numbered, first.witness())
    };
    let mut elsewhere = None;
    for (at, part) in parts.iter().enumerate() {
        // The same part at another tap counts once.
        let same = |other: &&Piece<'_>| other.queue_pair == part.queue_pair;
        if !parts[..at].iter().any(|other| same(&other)) {
            let bytes = parts[at..].iter().filter(same).find_map(|same| same.bytes(immediates));
            transfer.bytes = transfer.bytes.zip(bytes).map(|(sum, bytes)| sum + bytes);
            let packets = parts[at..].iter().filter(same).map(|same| same.packets).min();
            transfer.packets = transfer.packets.saturating_add(packets.unwrap_or(0));
            // Next to the sender, no switch has marked anything yet.
            let marked = parts[at..].iter().filter(same).map(|same| same.ce_packets).max();
            transfer.ce_packets = transfer.ce_packets.saturating_add(marked.unwrap_or(0));
        }
        let span = Span { first: part.data.first(), last: part.data.last };
        extend(
            match part.position {
                Position::Sender => &mut transfer.sent,
                Position::Receiver => &mut transfer.received,
                Position::Fabric | Position::Unknown => &mut elsewhere,
            },
            span,
        );
        if part.position != Position::Sender {
            transfer.witness = part.witness();
        }
        transfer.queue_pair = transfer.queue_pair.min(part.queue_pair);
        add_cts(&mut transfer, part);
    }
    transfer.sent = transfer.sent.or(elsewhere);
    transfer.received = transfer.received.or(elsewhere);
    Some(transfer)
}

impl Piece<'_> {
    fn witness(&self) -> Witness {
        let number = u64::from(self.data.number);
        Witness::Frame { tap: self.tap, number, time: self.data.last }
    }

    fn bytes(&self, immediates: ImmediateOrder) -> Option<u64> {
        let by_start = self.data.start.map(|start| u64::from(start.bytes));
        by_start.or_else(|| immediates.size(self.data.immediate?))
    }
}

/// Adds a part's CTS, and its first bytes if it starts at the CTS's address.
fn add_cts(transfer: &mut Transfer, part: &Piece<'_>) {
    let start = part.data.start;
    if let Some(record) = part.cts {
        let cts = transfer.cts.get_or_insert(Cts {
            posted: None,
            arrived: None,
            capacity: u64::from(record.capacity),
            requests: record.requests.map(u32::from),
            address: record.address,
            remote_key: record.remote_keys[0],
            tag: record.tag(),
        });
        let time = Some(record.time);
        match part.position {
            Position::Receiver => cts.posted = time,
            Position::Sender => cts.arrived = time,
            Position::Fabric | Position::Unknown => {
                cts.posted = cts.posted.or(time);
                cts.arrived = cts.arrived.or(time);
            }
        }
    }
    let is_first =
        transfer.cts.is_none_or(|cts| start.is_some_and(|start| start.address == cts.address));
    if is_first {
        let head = start.and_then(|start| start.head).map(NonZeroU64::get);
        transfer.head = transfer.head.or(head);
    }
}

/// Extends `place` to cover `span`.
fn extend(place: &mut Option<Span>, span: Span) {
    let known = place.get_or_insert(span);
    known.first = known.first.min(span.first);
    known.last = known.last.max(span.last);
}

#[cfg(test)]
mod tests;
