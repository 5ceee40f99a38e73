//! Transfers of one connection: data messages matched with the CTS that asked for them, and the
//! views of several taps put together.
//!
//! A CTS names an address and R_Key; the data that answers it goes there (NCCL `net_ib.cc`). NCCL
//! uses the same addresses again and again, but a receiver offers one again only after the data
//! before has arrived. So the latest CTS before the data that offers its address is the right one,
//! at any tap on the way.

use std::collections::{BTreeMap, BTreeSet};

use super::record::{CtsRecord, DataRecord, FlowTraffic};
use crate::link::job::{Cts, Transfer};
use crate::link::position::Position;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// PSNs on the circle.
const PSN_CIRCLE: i64 = 1 << 24;

/// Slots of the CTS FIFO since NCCL 2.19 (`MAX_REQUESTS`), and bytes from one to the next since
/// 2.20: what numbers are taken from where the snap length cut them off, which happens to long
/// elements only.
const FIFO_SLOTS: u64 = 256;
const FIFO_STRIDE: u64 = 512;

/// Offers at lower addresses that are looked at: those of one protocol do not overlap, and there are
/// three protocols.
pub(in crate::link) const OVERLAPPING_OFFERS: usize = 4;

/// One connection as one tap saw it.
#[derive(Clone, Debug)]
pub struct ConnectionView<'a> {
    /// Where the tap stands for the data.
    pub position: Position,
    /// Flows of data, each with the place of its queue pair in the connection.
    pub data: Vec<(u8, &'a FlowTraffic)>,
    /// Flows against the data.
    pub control: Vec<&'a FlowTraffic>,
}

/// What was found of one connection.
#[derive(Clone, Debug, Default)]
pub struct Transfers {
    /// The transfers in the order of their numbers.
    pub transfers: Vec<Transfer>,
    /// Data messages that a CTS was found for.
    pub matched: u64,
    /// Data messages that none was found for, though CTSs were seen.
    pub unmatched: u64,
}

/// The transfers that `views` saw. `fifo_address` is where the sender's CTS FIFO starts, if known.
#[must_use]
pub fn assemble(views: &[ConnectionView<'_>], fifo_address: Option<u64>) -> Transfers {
    let mut found = Transfers::default();
    let mut pieces: Vec<Piece> = Vec::new();
    for view in views {
        let mut seen = match_view(view, fifo_address);
        let matched = seen.iter().filter(|piece| piece.cts.is_some()).count();
        found.matched += matched as u64;
        if view.control.iter().any(|flow| !flow.cts.is_empty()) {
            found.unmatched += (seen.len() - matched) as u64;
        }
        align(&pieces, &mut seen);
        pieces.append(&mut seen);
    }
    let is_numbered = number(&mut pieces);
    found.transfers = merge(pieces, is_numbered);
    found
}

/// A data message, or the part of one that went over one queue pair, at one tap.
struct Piece {
    queue_pair: u8,
    data: DataRecord,
    /// Packets with a CE mark since the message before on its flow.
    ce_packets: u32,
    cts: Option<CtsRecord>,
    number: Option<u64>,
    position: Position,
    witness: Witness,
}

fn match_view(view: &ConnectionView<'_>, fifo_address: Option<u64>) -> Vec<Piece> {
    let mut offers: Vec<(CtsRecord, Option<u64>)> =
        view.control.iter().flat_map(|flow| numbered(&flow.cts, fifo_address)).collect();
    offers.sort_by_key(|(cts, _)| cts.time);
    let mut pieces: Vec<Piece> = Vec::new();
    for (queue_pair, flow) in &view.data {
        let mut ce_before = 0;
        for data in &flow.data {
            let tap = flow.key.tap;
            pieces.push(Piece {
                queue_pair: *queue_pair,
                data: *data,
                ce_packets: data.ce_packets.saturating_sub(ce_before),
                cts: None,
                number: None,
                position: view.position,
                witness: Witness::Frame { tap, number: data.number, time: data.last },
            });
            ce_before = data.ce_packets;
        }
    }
    pieces.sort_by_key(|piece| (piece.data.first.unwrap_or(piece.data.last), piece.data.last));
    let mut latest: BTreeMap<u64, (CtsRecord, Option<u64>)> = BTreeMap::new();
    let mut offers = offers.into_iter().peekable();
    for piece in &mut pieces {
        let start = piece.data.first.unwrap_or(piece.data.last);
        while let Some((cts, number)) = offers.next_if(|(cts, _)| cts.time <= start) {
            latest.insert(cts.address, (cts, number));
        }
        let Some((address, key)) = piece.data.address.zip(piece.data.remote_key) else { continue };
        let fitting = latest.range(..=address).rev().take(OVERLAPPING_OFFERS);
        let offer = fitting.map(|(_, offer)| *offer).find(|(cts, _)| cts.offers(address, key));
        if let Some((cts, number)) = offer {
            piece.cts = Some(cts);
            piece.number = number;
        }
    }
    pieces
}

/// CTSs of one flow with their numbers. Where the snap length cut the number off, the FIFO slot
/// tells it, modulo the slots.
fn numbered(
    records: &[CtsRecord],
    fifo_address: Option<u64>,
) -> impl Iterator<Item = (CtsRecord, Option<u64>)> {
    let mut previous = 0;
    records.iter().map(move |cts| {
        let by_slot = || {
            let slot = cts.slot.checked_sub(fifo_address?)? / FIFO_STRIDE;
            let ahead = slot.wrapping_sub(previous) % FIFO_SLOTS + 1;
            Some(previous + ahead)
        };
        let number = cts.index.or_else(by_slot);
        previous = number.unwrap_or(previous);
        (*cts, number)
    })
}

/// Brings the PSNs that one view saw onto the line of the views before it: taps that began on
/// different turns of the circle differ by whole turns.
fn align(known: &[Piece], view: &mut [Piece]) {
    let queue_pairs: BTreeSet<u8> = view.iter().map(|piece| piece.queue_pair).collect();
    for queue_pair in queue_pairs {
        let on_it = |piece: &&Piece| piece.queue_pair == queue_pair;
        let Some(first) = view.iter().find(on_it) else { continue };
        let (psn, time) = (first.data.last_psn, first.data.last);
        let distance = |piece: &&Piece| {
            piece.data.last.nanos_since(time).max(time.nanos_since(piece.data.last))
        };
        let Some(nearest) = known.iter().filter(on_it).min_by_key(distance) else { continue };
        let turns = (nearest.data.last_psn - psn + PSN_CIRCLE / 2).div_euclid(PSN_CIRCLE);
        for piece in view.iter_mut().filter(|piece| piece.queue_pair == queue_pair) {
            piece.data.last_psn += turns * PSN_CIRCLE;
        }
    }
}

/// Gives every piece a number. Returns whether the numbers are NCCL's.
fn number(pieces: &mut [Piece]) -> bool {
    let mut by_psn: BTreeMap<(u8, i64), Option<u64>> = BTreeMap::new();
    for piece in &*pieces {
        let known = by_psn.entry((piece.queue_pair, piece.data.last_psn)).or_default();
        *known = known.or(piece.number);
    }
    let is_numbered = by_psn.values().any(Option::is_some);
    let is_single = pieces.iter().all(|piece| piece.queue_pair == 0);
    if !is_numbered && !is_single {
        // Nothing orders the queue pairs but time.
        let mut order: Vec<((u8, i64), u64)> = pieces
            .iter()
            .map(|piece| ((piece.queue_pair, piece.data.last_psn), piece.data.last.as_nanos()))
            .collect();
        order.sort_unstable_by_key(|(key, time)| (*time, *key));
        let mut next = 0;
        for (key, _) in order {
            if let Some(number @ None) = by_psn.get_mut(&key) {
                next += 1;
                *number = Some(next);
            }
        }
    }
    fill(&mut by_psn);
    for piece in pieces {
        piece.number = by_psn.get(&(piece.queue_pair, piece.data.last_psn)).copied().flatten();
    }
    is_numbered
}

/// Numbers what no CTS was seen for by its neighbours on the same queue pair.
fn fill(by_psn: &mut BTreeMap<(u8, i64), Option<u64>>) {
    let first = by_psn.values().position(Option::is_some);
    let start = by_psn.values().copied().flatten().next().unwrap_or(1);
    let mut next = start.saturating_sub(first.unwrap_or(0) as u64).max(1);
    let mut queue_pair = None;
    for ((on, _), number) in by_psn.iter_mut() {
        if queue_pair.is_some_and(|known| known != *on) {
            next = number.unwrap_or(next);
        }
        queue_pair = Some(*on);
        let known = number.get_or_insert(next);
        next = *known + 1;
    }
}

fn merge(pieces: Vec<Piece>, is_numbered: bool) -> Vec<Transfer> {
    let learns_order = || {
        let mut orders = pieces.iter().filter_map(|piece| {
            let (bytes, immediate) = piece.data.bytes.zip(piece.data.immediate)?;
            match bytes {
                0 => None,
                _ if immediate == bytes => Some(false),
                _ if immediate.swap_bytes() == bytes => Some(true),
                _ => None,
            }
        });
        orders.next()
    };
    let is_little_endian = learns_order();
    let mut transfers: BTreeMap<u64, Merged> = BTreeMap::new();
    for piece in pieces {
        let Some(number) = piece.number else { continue };
        match transfers.get_mut(&number) {
            Some(merged) => merged.add(&piece, is_little_endian),
            None => {
                let mut merged = Merged::new(number, is_numbered, &piece);
                merged.add(&piece, is_little_endian);
                transfers.insert(number, merged);
            }
        }
    }
    transfers.into_values().map(Merged::finish).collect()
}

/// A transfer in the making.
struct Merged {
    transfer: Transfer,
    /// Bytes of each part, by queue pair: the parts at one tap are those at another.
    parts: Vec<(u8, Option<u64>)>,
    elsewhere: Option<Span>,
}

impl Merged {
    fn new(number: u64, is_numbered: bool, piece: &Piece) -> Self {
        let transfer = Transfer {
            number,
            is_numbered,
            bytes: None,
            cts: None,
            sent: None,
            received: None,
            head: None,
            ce_packets: 0,
            queue_pair: piece.queue_pair,
            witness: piece.witness,
        };
        Self { transfer, parts: Vec::new(), elsewhere: None }
    }

    fn add(&mut self, piece: &Piece, is_little_endian: Option<bool>) {
        let transfer = &mut self.transfer;
        let data = &piece.data;
        let bytes = match (data.bytes, data.immediate, is_little_endian) {
            (Some(bytes), ..) => Some(u64::from(bytes)),
            (None, Some(immediate), Some(true)) => Some(u64::from(immediate.swap_bytes())),
            (None, Some(immediate), Some(false)) => Some(u64::from(immediate)),
            _ => None,
        };
        match self.parts.iter_mut().find(|(queue_pair, _)| *queue_pair == piece.queue_pair) {
            Some((_, known)) => *known = known.or(bytes),
            None => self.parts.push((piece.queue_pair, bytes)),
        }
        let span = Span { first: data.first.unwrap_or(data.last), last: data.last };
        let place = match piece.position {
            Position::Sender => &mut transfer.sent,
            Position::Receiver => &mut transfer.received,
            Position::Fabric | Position::Unknown => &mut self.elsewhere,
        };
        extend(place, span);
        if piece.position != Position::Sender {
            transfer.ce_packets = transfer.ce_packets.max(piece.ce_packets);
            transfer.witness = piece.witness;
        }
        transfer.queue_pair = transfer.queue_pair.min(piece.queue_pair);
        if transfer.cts.is_none_or(|cts| Some(cts.address) == data.address) {
            transfer.head = transfer.head.or(data.head);
        }
        if let Some(record) = &piece.cts {
            let cts = transfer.cts.get_or_insert(Cts {
                posted: None,
                arrived: None,
                capacity: record.capacity,
                requests: record.requests,
                address: record.address,
                remote_key: record.remote_keys[0],
                tag: record.tag,
            });
            match piece.position {
                Position::Receiver => cts.posted = Some(record.time),
                Position::Sender => cts.arrived = Some(record.time),
                Position::Fabric | Position::Unknown => {
                    cts.posted = cts.posted.or(Some(record.time));
                    cts.arrived = cts.arrived.or(Some(record.time));
                }
            }
        }
    }

    fn finish(self) -> Transfer {
        let Self { mut transfer, parts, elsewhere } = self;
        transfer.bytes = parts.iter().map(|(_, bytes)| *bytes).sum();
        transfer.sent = transfer.sent.or(elsewhere);
        transfer.received = transfer.received.or(elsewhere);
        transfer
    }
}

/// Makes `place` reach over `span` as well.
fn extend(place: &mut Option<Span>, span: Span) {
    let known = place.get_or_insert(span);
    known.first = known.first.min(span.first);
    known.last = known.last.max(span.last);
}
