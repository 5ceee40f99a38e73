//! TCP: what NCCL's control plane says is kept without what identifies somebody, all else becomes zero.
//!
//! A value may lie in two segments, so streams are put together first (at most [`HALF_LIMIT`] bytes of
//! a direction), rewritten as a whole, and cut again as they were. Bytes beyond the limit become zero.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::endpoint;
use super::ids::{self, Ids};
use super::peers::{FRAME_LENGTH, PeerSums, frames};
use super::pseudonym::{Pseudonyms, SMALLEST_KEY};
use super::sums::put;
use super::text;
use railscope_core::decode::nccl::greeting::Greeting;
use railscope_core::decode::nccl::line_flags::LL128_LINE;
use railscope_core::decode::nccl::net_socket::{SIZE_BYTES, message_bytes};
use railscope_core::decode::packet::{TcpFlags, TcpSegment};
use railscope_core::model::tap::TapId;

/// Most bytes kept of one direction, and of all together.
pub const HALF_LIMIT: usize = 32 << 20;
const TOTAL_LIMIT: usize = 1 << 30;

/// Bytes of a message's data that are compared with others.
const HEAD_BYTES: usize = 32;

/// Shortest run of printable bytes that is taken for text, in a TCPStore and in NCCL's structures.
const TEXT_RUN: usize = 4;
const BINARY_TEXT_RUN: usize = 6;

/// A stream that is longer is none of a TCPStore with unique ids.
const STORE_BYTES: usize = 4 << 20;

/// One direction: tap, sender, receiver.
pub type Direction = (TapId, SocketAddr, SocketAddr);

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A TCPStore of PyTorch.
    Store,
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
}

/// Values that are searched for in the control plane.
#[derive(Debug, Default)]
pub struct Known {
    /// Addresses in packets and texts.
    pub addresses: Vec<IpAddr>,
    /// Keys of memory.
    pub keys: Vec<u32>,
    /// Virtual addresses that packets name.
    pub places: Vec<u64>,
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
        let halves = self.halves.entry(direction).or_default();
        halves.turn(segment.sequence, is_begin);
        if halves.all.is_empty() {
            halves.all.push(Half { base: segment.sequence, has_begin: false, bytes: Vec::new() });
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
        }
    }

    /// Rewrites all streams by their kind, `None` for those that become zero; then the second pass may begin.
    pub fn scrub(
        &mut self,
        kind_of: impl Fn(&Direction) -> Option<Kind>,
        known: &Known,
        pseudonyms: &mut Pseudonyms,
    ) {
        let mut control = Control::new(known, pseudonyms);
        let halves = self.halves.values().flat_map(|halves| &halves.all);
        let magics = halves.filter_map(|half| Greeting::decode(&half.bytes));
        let magics: BTreeSet<u64> = magics.map(|greeting| greeting.magic).collect();
        let seen: BTreeSet<u64> = magics.iter().chain(&known.ids).copied().collect();
        control.ids = seen.iter().map(|id| id.to_le_bytes()).collect();
        let ids = self.ids(&magics, &seen, &control, &known.roots, pseudonyms);
        pseudonyms.set_ids(ids);
        let control_plane = self.halves.iter().filter(|(it, _)| kind_of(it) == Some(Kind::Nccl));
        let sent = control_plane.flat_map(|(_, halves)| &halves.all).map(|half| &half.bytes[..]);
        let sums = PeerSums::learn(sent, &known.ids, pseudonyms);
        for (direction, halves) in &mut self.halves {
            halves.current = 0;
            let kind = kind_of(direction);
            for half in &mut halves.all {
                match kind {
                    None => half.bytes = Vec::new(),
                    Some(Kind::Socket) => control.socket(&mut half.bytes, pseudonyms),
                    Some(kind) => control.rewrite(&mut half.bytes, kind, &sums, pseudonyms),
                }
            }
            let is_other = |one: &Half| !one.has_begin;
            // As at the start of the first pass.
            if !halves.all.first().is_none_or(is_other) {
                halves.current = usize::MAX;
            }
        }
    }

    /// What the ids of communicators become: of unique ids in TCPStores, of magics and roots, and of splits.
    fn ids(
        &self,
        magics: &BTreeSet<u64>,
        seen: &BTreeSet<u64>,
        control: &Control,
        roots: &[SocketAddr],
        pseudonyms: &mut Pseudonyms,
    ) -> Ids {
        let mut ids = Ids::new();
        for half in self
            .halves
            .values()
            .flat_map(|halves| &halves.all)
            .filter(|half| half.bytes.len() < STORE_BYTES)
        {
            for at in 0..half.bytes.len() {
                let Some(id) = array::<128>(&half.bytes, at) else { break };
                let Some(magic) = id.first_chunk::<8>().map(|magic| u64::from_le_bytes(*magic))
                else {
                    break;
                };
                if !magics.contains(&magic) {
                    continue;
                }
                let mut other = id;
                let mut is_done = vec![false; other.len()];
                mark(&mut is_done, 0, 8);
                for at in 8..other.len() {
                    if is_done.get(at) == Some(&false) {
                        let store = (Kind::Store, true);
                        let len = control.binary(&mut other, at, store, &is_done, pseudonyms);
                        mark(&mut is_done, at, len);
                    }
                }
                ids::add(&id, &other, &mut ids);
            }
        }
        for (magic, root) in
            magics.iter().flat_map(|magic| roots.iter().map(move |root| (magic, root)))
        {
            ids::add_root(*magic, *root, pseudonyms, &mut ids);
        }
        ids::add_children(seen, &mut ids);
        ids
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
                self.all.push(Half { base, has_begin: true, bytes: Vec::new() });
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
    /// Where a segment's payload belongs; far beyond the end for bytes before the first.
    const fn place(&self, sequence: u32, is_begin: bool) -> usize {
        let first = if is_begin { sequence.wrapping_add(1) } else { sequence };
        first.wrapping_sub(self.base) as usize
    }
}

/// Rewrites the bytes of the control plane.
struct Control {
    v4: BTreeMap<[u8; 4], [u8; 4]>,
    v6: BTreeMap<[u8; 16], [u8; 16]>,
    keys: BTreeMap<[u8; 4], [u8; 4]>,
    places: BTreeSet<[u8; 8]>,
    ids: Vec<[u8; 8]>,
    names: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Control {
    fn new(known: &Known, pseudonyms: &mut Pseudonyms) -> Self {
        let (mut v4, mut v6, mut keys) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for address in &known.addresses {
            match (address, pseudonyms.address(*address)) {
                (IpAddr::V4(one), IpAddr::V4(other))
                    if !one.is_loopback() && !one.is_unspecified() =>
                {
                    let (one, other) = (one.octets(), other.octets());
                    v4.insert(one, other);
                }
                (IpAddr::V6(one), IpAddr::V6(other))
                    if !one.is_loopback() && !one.is_unspecified() =>
                {
                    v6.insert(one.octets(), other.octets());
                }
                _ => {}
            }
        }
        for key in known.keys.iter().filter(|key| **key >= SMALLEST_KEY) {
            let other = pseudonyms.remote_key(*key);
            keys.insert(key.to_le_bytes(), other.to_le_bytes());
        }
        let places = known.places.iter().map(|place| place.to_le_bytes()).collect();
        let ids = Vec::new();
        let bytes =
            |(one, other): (&str, &str)| (one.as_bytes().to_vec(), other.as_bytes().to_vec());
        let names = pseudonyms.names().map(bytes).collect();
        Self { v4, v6, keys, places, ids, names }
    }

    /// A connection of NET/Socket: greeting, index, then sizes and data.
    fn socket(&self, bytes: &mut [u8], pseudonyms: &Pseudonyms) {
        if Greeting::decode(bytes).is_none() {
            return bytes.fill(0);
        }
        let mut at = Greeting::LEN + 1;
        let mut number = 0_u32;
        while let Some(size) = bytes.get(at..at + SIZE_BYTES).and_then(|it| it.try_into().ok()) {
            let Some(size) = message_bytes(size) else { break };
            number = number.saturating_add(1);
            at += SIZE_BYTES;
            let end = at.saturating_add(size as usize).min(bytes.len());
            if let Some(data) = bytes.get_mut(at..end) {
                hide(data, number, pseudonyms);
            }
            at = end;
        }
        // Not read as messages: nobody compares it.
        if let Some(rest) = bytes.get_mut(at..) {
            rest.fill(0);
        }
    }

    /// Replaces what is known or looks like an address, a place in memory or a text.
    fn rewrite(&self, bytes: &mut [u8], kind: Kind, sums: &PeerSums, pseudonyms: &mut Pseudonyms) {
        let mut is_done = vec![false; bytes.len()];
        let mut whole: Vec<std::ops::Range<usize>> = Vec::new();
        if kind == Kind::Nccl {
            let changed = sums.replace(bytes, pseudonyms);
            changed.into_iter().for_each(|at| mark(&mut is_done, at, 8));
            // A length behind a random number looks like an address.
            for (start, frame) in frames(bytes) {
                mark(&mut is_done, start - FRAME_LENGTH, FRAME_LENGTH);
                whole.push(start..start + frame.len());
            }
        }
        if kind != Kind::Store
            && let Some(greeting) = Greeting::decode(bytes)
        {
            put(bytes, 0, pseudonyms.id(greeting.magic).to_le_bytes());
            mark(&mut is_done, 0, Greeting::LEN);
        }
        if kind == Kind::Exchange {
            let written = endpoint::rewrite(bytes, pseudonyms);
            mark(&mut is_done, written.start, written.len());
        }
        for at in 0..bytes.len() {
            if is_done.get(at) == Some(&true) {
                continue;
            }
            // In a structure, addresses of memory are aligned.
            let frame = whole.get(whole.partition_point(|frame| frame.end <= at));
            let start = frame.filter(|frame| frame.contains(&at)).map(|frame| frame.start);
            let is_aligned = start.is_none_or(|start| (at - start) % 8 == 0);
            let len = self.binary(bytes, at, (kind, is_aligned), &is_done, pseudonyms);
            mark(&mut is_done, at, len);
        }
        for (name, other) in &self.names {
            let found: Vec<usize> = memchr::memmem::find_iter(bytes, name).collect();
            for at in found {
                if let Some(place) = bytes.get_mut(at..at + name.len()) {
                    place.copy_from_slice(other);
                    mark(&mut is_done, at, name.len());
                }
            }
        }
        let least = if kind == Kind::Store { TEXT_RUN } else { BINARY_TEXT_RUN };
        let is_text = |at: usize| {
            bytes.get(at).is_some_and(|byte| matches!(byte, b' '..=b'~'))
                && is_done.get(at) == Some(&false)
        };
        let mut runs = Vec::new();
        let mut start = 0;
        for at in 0..=bytes.len() {
            if !is_text(at) {
                if at - start >= least {
                    runs.push(start..at);
                }
                start = at + 1;
            }
        }
        for run in runs {
            if let Some(run) = bytes.get_mut(run) {
                text::fixed(run, pseudonyms);
            }
        }
    }

    /// Replaces the value at `at`; returns its length, 0 if there is none.
    fn binary(
        &self,
        bytes: &mut [u8],
        at: usize,
        (kind, is_aligned): (Kind, bool),
        is_done: &[bool],
        pseudonyms: &mut Pseudonyms,
    ) -> usize {
        let free = |len: usize| is_done.get(at..at + len).is_some_and(|it| !it.contains(&true));
        if let Some(eight) = array::<8>(bytes, at)
            && self.ids.binary_search(&eight).is_ok()
        {
            put(bytes, at, pseudonyms.id(u64::from_le_bytes(eight)).to_le_bytes());
            return 8;
        }
        if let Some(sixteen) = array::<16>(bytes, at)
            && free(16)
        {
            if let Some(len) = socket_address(bytes, at, sixteen, pseudonyms) {
                return len;
            }
            let is_gid = matches!(
                sixteen,
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ..] | [0xfe, 0x80, 0, 0, 0, 0, 0, 0, ..]
            );
            let other = self
                .v6
                .get(&sixteen)
                .copied()
                .or_else(|| is_gid.then(|| pseudonyms.fixed_gid(sixteen)));
            if let Some(other) = other {
                put(bytes, at, other);
                return 16;
            }
        }
        if let Some(eight) = array::<8>(bytes, at)
            && free(8)
            && (self.places.contains(&eight) || is_aligned && is_place(eight))
        {
            let address = pseudonyms.virtual_address(u64::from_le_bytes(eight));
            put(bytes, at, address.to_le_bytes());
            return 8;
        }
        let four = array::<4>(bytes, at).filter(|_| free(4));
        let is_exchange = kind == Kind::Exchange;
        let key = |four: &[u8; 4]| self.keys.get(four).filter(|_| is_exchange);
        // In a TCPStore, addresses are in a `struct sockaddr_in`: its numbers may look like one.
        let follows_family =
            || at.checked_sub(4).and_then(|at| array::<2>(bytes, at)) == Some([2, 0]);
        let may_be_address = kind != Kind::Store || follows_family();
        let address = |four: &[u8; 4]| self.v4.get(four).filter(|_| may_be_address);
        let found = four.and_then(|four| address(&four).or_else(|| key(&four)));
        if let Some(other) = found {
            put(bytes, at, *other);
            return 4;
        }
        0
    }
}

/// Whether a number looks like an address in user space of x86-64 or arm64.
const fn is_place(bytes: [u8; 8]) -> bool {
    match bytes {
        [_, _, _, _, high, 0x55..=0x7f, 0, 0] => high != 0,
        // -1 before a small number is none.
        [_, _, low, high, 0xff, 0xff, 0, 0] => high >= 0x80 && (low != 0xff || high != 0xff),
        [_, _, _, _, 0xaa | 0xab, 0xaa | 0xab, 0, 0] => true,
        _ => false,
    }
}

/// `struct sockaddr_in` and `sockaddr_in6`; the family is in the host's order.
fn socket_address(
    bytes: &mut [u8],
    at: usize,
    sixteen: [u8; 16],
    pseudonyms: &Pseudonyms,
) -> Option<usize> {
    match sixteen {
        [2, 0, high, low, a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0]
            // Two counts look like an address without a port.
            if [a, b, c, d] != [0; 4] && [high, low] != [0; 2] =>
        {
            let other = pseudonyms.fixed_v4([a, b, c, d]);
            put(bytes, at + 4, other);
            Some(16)
        }
        [10, 0, _, _, _, _, _, _, ..] => {
            let address = array::<16>(bytes, at + 8)?;
            // Anything else that begins so is no address that hosts have.
            if !matches!(address, [0x20..=0x3f | 0xfc | 0xfd, ..] | [0xfe, 0x80, 0, 0, ..]) {
                return None;
            }
            let other = pseudonyms.fixed_gid(address);
            put(bytes, at + 8, other);
            Some(24)
        }
        _ => None,
    }
}

/// Hides the data of a message; flags of LL and LL128 show the protocol, and stay.
fn hide(data: &mut [u8], number: u32, pseudonyms: &Pseudonyms) {
    let flags: Vec<(usize, [u8; 4])> = (4..LL128_LINE)
        .step_by(4)
        .filter_map(|at| Some((at, array::<4>(data, at)?)))
        .filter(|(_, word)| {
            (number..=number.saturating_mul(8)).contains(&u32::from_le_bytes(*word))
        })
        .collect();
    let is_line = |at: &usize| at % 16 == 4 || at % 16 == 12 || *at == 120;
    let (head, rest) = data.split_at_mut(HEAD_BYTES.min(data.len()));
    rest.fill(0);
    if head.iter().any(|byte| *byte != 0) {
        pseudonyms.digest(head);
    }
    for (at, word) in flags.into_iter().filter(|(at, _)| is_line(at)) {
        put(data, at, word);
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn mark(is_done: &mut [bool], at: usize, len: usize) {
    is_done.iter_mut().skip(at).take(len).for_each(|done| *done = true);
}
