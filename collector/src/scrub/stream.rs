//! TCP: of NCCL's control plane and of stores, the fields that readers need are kept; all else becomes zero.
//!
//! A value may lie in two segments, so streams are put together first (at most [`HALF_LIMIT`] bytes of
//! a direction), rewritten as a whole, and cut again as they were. Bytes beyond the limit become zero.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::bootstrap;
use super::claim::Claims;
use super::endpoint;
use super::ids::{self, Ids};
use super::peers::PeerSums;
use super::pseudonym::Pseudonyms;
use super::store;
use super::sums::put;
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::line_flags::{LL128_LINE, protocol};
use railscope_core::decode::nccl::net_socket::{SIZE_BYTES, message_bytes};
use railscope_core::decode::packet::{TcpFlags, TcpSegment};
use railscope_core::model::nccl::Protocol;
use railscope_core::model::tap::TapId;

/// Most bytes kept of one direction, and of all together.
pub const HALF_LIMIT: usize = 32 << 20;
const TOTAL_LIMIT: usize = 1 << 30;

/// Bytes of a message's data that are compared with others.
const HEAD_BYTES: usize = 32;

/// Most directions; more of them become zero.
const DIRECTIONS: usize = 1 << 18;

/// One direction: tap, sender, receiver.
pub type Direction = (TapId, SocketAddr, SocketAddr);

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What a client sends to a TCPStore of PyTorch.
    Requests,
    /// What the store answers.
    Replies,
    /// A socket of NCCL's own that is not for data.
    Nccl,
    /// The exchange of queue pairs of NET/IB.
    Exchange,
    /// Data of NET/Socket.
    Socket,
}

/// All TCP connections of the input.
#[derive(Debug, Default)]
pub struct Streams {
    halves: BTreeMap<Direction, Halves>,
    kept: usize,
    /// Bytes beyond a limit.
    dropped: u64,
}

/// One direction, and those that used the same ports after it.
#[derive(Debug, Default)]
struct Halves {
    all: Vec<Half>,
    /// The one that is read or rewritten.
    current: usize,
}

#[derive(Debug)]
struct Half {
    /// Sequence number of the first byte.
    base: u32,
    has_begin: bool,
    bytes: Vec<u8>,
    /// Which of them were captured.
    parts: Vec<(usize, usize)>,
}

/// What the report knows of communicators.
#[derive(Debug, Default)]
pub struct Known {
    /// Ids of communicators, which connect logs with packets.
    pub ids: Vec<u64>,
    /// Where roots of communicators listen.
    pub roots: Vec<SocketAddr>,
}

impl Streams {
    /// Keeps the payload of a segment.
    pub fn observe(&mut self, direction: Direction, segment: &TcpSegment<'_>) {
        let is_begin = segment.flags.has(TcpFlags::SYN);
        if !is_begin && segment.payload.is_empty() {
            return;
        }
        if self.halves.len() >= DIRECTIONS && !self.halves.contains_key(&direction) {
            self.dropped += segment.payload.len() as u64;
            return;
        }
        let halves = self.halves.entry(direction).or_default();
        halves.turn(segment.sequence, is_begin);
        if halves.all.is_empty() {
            halves.all.push(Half::new(segment.sequence, false));
        }
        let Some(half) = halves.all.get_mut(halves.current) else { return };
        let start = half.place(segment.sequence, is_begin);
        let end = start.saturating_add(segment.payload.len());
        let more = end.saturating_sub(half.bytes.len());
        if end > HALF_LIMIT || self.kept + more > TOTAL_LIMIT {
            self.dropped += segment.payload.len() as u64;
            return;
        }
        if more > 0 {
            half.bytes.resize(end, 0);
            self.kept += more;
        }
        if let Some(place) = half.bytes.get_mut(start..end) {
            place.copy_from_slice(segment.payload);
            match half.parts.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => {
                    half.parts.push((start, end));
                    self.kept += size_of::<(usize, usize)>();
                }
            }
        }
    }

    /// Learns the names in all streams.
    pub fn learn(&self, kind_of: impl Fn(&Direction) -> Option<Kind>, pseudonyms: &mut Pseudonyms) {
        let exchanges = self.halves.iter().filter(|(it, _)| kind_of(it) == Some(Kind::Exchange));
        for half in exchanges.flat_map(|(_, halves)| &halves.all) {
            let _ = endpoint::rewrite(&half.bytes, pseudonyms);
        }
    }

    /// Rewrites all streams by their kind, `None` for those that become zero; then the second pass may begin.
    pub fn scrub(
        &mut self,
        kind_of: impl Fn(&Direction) -> Option<Kind>,
        known: &Known,
        pseudonyms: &mut Pseudonyms,
    ) {
        for half in self.halves.values_mut().flat_map(|halves| &mut halves.all) {
            half.merge();
        }
        let halves = self.halves.values().flat_map(|halves| &halves.all);
        let magics = halves.filter_map(|half| Greeting::decode(&half.bytes));
        let magics: BTreeSet<u64> = magics.map(|greeting| greeting.magic).collect();
        let seen: BTreeSet<u64> = magics.iter().chain(&known.ids).copied().collect();
        let stores = self
            .halves
            .iter()
            .filter(|(it, _)| matches!(kind_of(it), Some(Kind::Requests | Kind::Replies)));
        let stores = stores.flat_map(|(_, halves)| &halves.all).map(|half| &half.bytes[..]);
        let ids = ids(stores, &magics, &seen, &known.roots, pseudonyms);
        pseudonyms.set_ids(ids);
        let control_plane = self.halves.iter().filter(|(it, _)| kind_of(it) == Some(Kind::Nccl));
        let sent = control_plane.flat_map(|(_, halves)| &halves.all).map(|half| &half.bytes[..]);
        let sums = PeerSums::learn(sent, &known.ids);
        let mut asked = BTreeMap::new();
        for (direction, halves) in &mut self.halves {
            let (tap, from, to) = *direction;
            for (at, half) in halves.all.iter_mut().enumerate() {
                let whole = half.bytes.get(..half.prefix()).unwrap_or_default();
                let other = match kind_of(direction) {
                    None | Some(Kind::Replies) => continue,
                    Some(Kind::Requests) => {
                        let (other, requests) = store::rewrite_requests(whole, pseudonyms);
                        asked.insert((tap, to, from, at), requests);
                        other
                    }
                    Some(Kind::Nccl) => bootstrap::rewrite(whole, &sums, pseudonyms),
                    Some(Kind::Exchange) => endpoint::rewrite(whole, pseudonyms),
                    Some(Kind::Socket) => {
                        socket(&half.bytes, |at, len| half.holds(at, len), pseudonyms)
                    }
                };
                half.bytes = other;
            }
        }
        for (direction, halves) in &mut self.halves {
            let (tap, from, to) = *direction;
            for (at, half) in halves.all.iter_mut().enumerate() {
                match kind_of(direction) {
                    None => half.bytes = Vec::new(),
                    Some(Kind::Replies) => {
                        let whole = half.bytes.get(..half.prefix()).unwrap_or_default();
                        let asked = asked.remove(&(tap, from, to, at)).unwrap_or_default();
                        half.bytes = store::rewrite_replies(whole, asked, pseudonyms);
                    }
                    Some(_) => {}
                }
            }
            halves.current = 0;
            let is_other = |one: &Half| !one.has_begin;
            // As at the start of the first pass.
            if !halves.all.first().is_none_or(is_other) {
                halves.current = usize::MAX;
            }
        }
    }

    /// Puts into `payload` what stands for it.
    pub fn replace(
        &mut self,
        direction: Direction,
        sequence: u32,
        is_begin: bool,
        payload: &mut [u8],
    ) {
        let found = self.halves.get_mut(&direction).and_then(|halves| {
            halves.turn_again(sequence, is_begin);
            halves.all.get(halves.current)
        });
        let start = found.map_or(0, |half| half.place(sequence, is_begin));
        for (at, byte) in payload.iter_mut().enumerate() {
            *byte =
                found.and_then(|half| half.bytes.get(start.checked_add(at)?)).copied().unwrap_or(0);
        }
    }

    /// Bytes that became zero because they were beyond the limits.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Halves {
    /// A SYN with a new number begins another connection.
    fn turn(&mut self, sequence: u32, is_begin: bool) {
        if !is_begin {
            return;
        }
        let base = sequence.wrapping_add(1);
        match self.all.iter().position(|half| half.has_begin && half.base == base) {
            Some(at) => self.current = at,
            None => {
                self.all.push(Half::new(base, true));
                self.current = self.all.len() - 1;
            }
        }
    }

    fn turn_again(&mut self, sequence: u32, is_begin: bool) {
        let base = sequence.wrapping_add(1);
        if let Some(at) = self.all.iter().position(|half| half.has_begin && half.base == base)
            && is_begin
        {
            self.current = at;
        }
    }
}

impl Half {
    const fn new(base: u32, has_begin: bool) -> Self {
        Self { base, has_begin, bytes: Vec::new(), parts: Vec::new() }
    }

    /// Parts in order, without a gap of nothing between two.
    fn merge(&mut self) {
        self.parts.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (start, end) in self.parts.drain(..) {
            match merged.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => merged.push((start, end)),
            }
        }
        self.parts = merged;
    }

    /// Bytes before the first that was not captured.
    fn prefix(&self) -> usize {
        self.parts.first().filter(|(start, _)| *start == 0).map_or(0, |(_, end)| *end)
    }

    /// Whether these bytes were captured.
    fn holds(&self, at: usize, len: usize) -> bool {
        let before = self.parts.partition_point(|(start, _)| *start <= at);
        let part = before.checked_sub(1).and_then(|last| self.parts.get(last));
        part.is_some_and(|(_, end)| *end >= at.saturating_add(len))
    }

    /// Where a segment's payload belongs; far beyond the end for bytes before the first.
    const fn place(&self, sequence: u32, is_begin: bool) -> usize {
        let first = if is_begin { sequence.wrapping_add(1) } else { sequence };
        first.wrapping_sub(self.base) as usize
    }
}

/// What the ids of communicators become: of unique ids in stores, of magics and roots, and of splits.
fn ids<'a>(
    stores: impl Iterator<Item = &'a [u8]>,
    magics: &BTreeSet<u64>,
    seen: &BTreeSet<u64>,
    roots: &[SocketAddr],
    pseudonyms: &mut Pseudonyms,
) -> Ids {
    let mut ids = Ids::new();
    for bytes in stores {
        for id in bytes.windows(128).filter_map(|id| id.first_chunk::<128>()) {
            let magic = id.first_chunk::<8>().map(|magic| u64::from_le_bytes(*magic));
            if magic.is_some_and(|magic| magics.contains(&magic))
                && let Some(other) = store::other_id(id, pseudonyms)
            {
                ids::add(id, &other, &mut ids);
            }
        }
    }
    for (magic, root) in magics.iter().flat_map(|magic| roots.iter().map(move |root| (magic, root)))
    {
        ids::add_root(*magic, *root, pseudonyms, &mut ids);
    }
    ids::add_children(seen, &mut ids);
    ids::add_others(seen, pseudonyms, &mut ids);
    ids
}

/// A connection of NET/Socket: greeting, index, then sizes and data. `is_whole` says whether bytes were captured.
fn socket(
    before: &[u8],
    is_whole: impl Fn(usize, usize) -> bool,
    pseudonyms: &Pseudonyms,
) -> Vec<u8> {
    let mut claims = Claims::new(before);
    let Some(greeting) = Greeting::decode(before) else { return claims.out };
    let mut at = bootstrap::greet(&mut claims, &greeting, pseudonyms);
    claims.keep(at, 1);
    at += 1;
    let mut number = 0_u32;
    while let Some(size) =
        claims.bytes(at).and_then(message_bytes).filter(|_| is_whole(at, SIZE_BYTES))
    {
        number = number.saturating_add(1);
        claims.keep(at, SIZE_BYTES);
        at += SIZE_BYTES;
        let end = at.saturating_add(size as usize).min(before.len());
        let head = (0..=LL128_LINE.min(end - at)).rev().find(|len| is_whole(at, *len));
        let head = before.get(at..at + head.unwrap_or_default()).unwrap_or_default();
        let protocol = protocol(head, size, number.into());
        if let Some((from, to)) = before.get(at..end).zip(claims.out.get_mut(at..end)) {
            to.copy_from_slice(from);
            hide(to, protocol, pseudonyms);
        }
        at = end;
    }
    claims.out
}

/// Hides the data of a message; flags of LL and LL128 show the protocol, and stay. A word that is only like a flag
/// is data, such as a token.
fn hide(data: &mut [u8], protocol: Option<Protocol>, pseudonyms: &Pseudonyms) {
    let places: Vec<usize> = match protocol {
        Some(Protocol::Ll) => (4..LL128_LINE).step_by(8).collect(),
        Some(Protocol::Ll128) => vec![LL128_LINE - 8, LL128_LINE - 4],
        _ => Vec::new(),
    };
    let flags: Vec<(usize, [u8; 4])> =
        places.into_iter().filter_map(|at| Some((at, array(data, at)?))).collect();
    let (head, rest) = data.split_at_mut(HEAD_BYTES.min(data.len()));
    rest.fill(0);
    if head.iter().any(|byte| *byte != 0) {
        pseudonyms.digest(head);
    }
    for (at, word) in flags {
        put(data, at, word);
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
