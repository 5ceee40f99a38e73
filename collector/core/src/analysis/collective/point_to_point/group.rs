//! Groups of sends: what ranks call between `ncclGroupStart` and `ncclGroupEnd`, and run as one
//! kernel.
//!
//! A group has at most one send from one rank to another; a rank's groups follow each other. Sends
//! of one group are under way at the same time, from the receiver's request to the last packet. Where
//! a rank is late they may not be: then a group is what has been one before, or what all pairs of ranks
//! do equally often.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::super::thresholds::{OPEN_GROUPS, PATTERNS, SENDS_APART};
use super::send::Send;
use crate::model::time::{Span, Timestamp};

/// One end of a send: its rank or, if that is unknown, its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    Rank(u32),
    Port(Option<IpAddr>),
}

/// Sender and receiver.
pub(super) type Pair = (End, End);

/// A send between two ends.
#[derive(Clone, Debug)]
pub(super) struct PairSend {
    pub(super) pair: Pair,
    /// Its number among those of the pair.
    pub(super) number: usize,
    pub(super) send: Send,
    window: Span,
}

/// Sends that belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Its sends, in order of time.
    pub(super) sends: Vec<PairSend>,
    pub(super) pairs: BTreeSet<Pair>,
}

/// The groups of all sends, by pair, in order of time. `is_from_start`: the first message of every
/// connection was seen.
pub(super) fn groups(by_pair: BTreeMap<Pair, Vec<Send>>, is_from_start: bool) -> Vec<Group> {
    let counts: BTreeSet<usize> = by_pair.values().map(Vec::len).collect();
    let all: BTreeSet<Pair> = by_pair.keys().copied().collect();
    let mut sends: Vec<PairSend> = by_pair
        .into_iter()
        .flat_map(|(pair, sends)| {
            (0..).zip(sends).filter_map(move |(number, send)| {
                Some(PairSend { pair, number, window: send.window()?, send })
            })
        })
        .collect();
    sends.sort_by_key(|one| (one.start(), one.pair));
    let range = counts.first().zip(counts.last());
    let is_even = range
        .is_some_and(|(least, most)| most - least <= if is_from_start { SENDS_APART } else { 0 });
    if is_even && is_round(&all) {
        let numbers: Vec<usize> = sends.iter().map(|one| one.number).collect();
        if mostly_together(&sends, &numbers) {
            return collect(sends, &numbers);
        }
    }
    let first = assign(&sends, &[]);
    let patterns = patterns(&sends, &first);
    let numbers = if patterns.is_empty() { first } else { assign(&sends, &patterns) };
    collect(sends, &numbers)
}

impl PairSend {
    fn start(&self) -> Timestamp {
        self.send.parts.iter().map(|part| part.span.first).min().unwrap_or(self.window.first)
    }
}

/// Whether these pairs are what ranks do in one call: all exchange with all, or each sends to at most
/// one and receives from at most one.
fn is_round(pairs: &BTreeSet<Pair>) -> bool {
    is_complete(pairs) || {
        let (senders, receivers): (BTreeSet<End>, BTreeSet<End>) = pairs.iter().copied().unzip();
        senders.len() == pairs.len() && receivers.len() == pairs.len()
    }
}

/// Whether everybody sends to everybody else.
fn is_complete(pairs: &BTreeSet<Pair>) -> bool {
    let ends: BTreeSet<End> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    pairs.len() == ends.len() * ends.len().saturating_sub(1)
}

/// Whether most of the groups with these numbers are under way at one time, or begin before the next
/// one begins.
fn mostly_together(sends: &[PairSend], numbers: &[usize]) -> bool {
    let mut groups: BTreeMap<usize, Vec<&PairSend>> = BTreeMap::new();
    for (one, number) in sends.iter().zip(numbers) {
        groups.entry(*number).or_default().push(one);
    }
    let begins: Vec<Option<Timestamp>> =
        groups.values().map(|sends| sends.first().map(|one| one.start())).collect();
    let is_one = |(at, sends): &(usize, &Vec<&PairSend>)| {
        let last = sends.last().map(|one| one.start());
        let next = begins.get(at + 1).copied().flatten();
        next.zip(last).is_none_or(|(next, last)| last <= next) || is_joint(sends)
    };
    groups.values().enumerate().filter(is_one).count() * 2 >= groups.len()
}

/// Whether these sends, together, are under way without a pause.
fn is_joint(sends: &[&PairSend]) -> bool {
    let mut spans: Vec<Span> = sends.iter().map(|one| one.window).collect();
    spans.sort_by_key(|span| span.first);
    let Some(mut end) = spans.first().map(|span| span.last) else { return false };
    spans.iter().all(|span| {
        let is_joint = span.first <= end;
        end = end.max(span.last);
        is_joint
    })
}

/// A group while it is formed.
struct Forming {
    pairs: BTreeSet<Pair>,
    window: Span,
    /// The patterns that it may still become.
    patterns: Vec<usize>,
}

impl Forming {
    fn takes(&self, one: &PairSend, patterns: &[BTreeSet<Pair>]) -> bool {
        let is_at_once =
            one.window.first <= self.window.last && self.window.first <= one.window.last;
        let is_known =
            || self.patterns.iter().any(|pattern| patterns[*pattern].contains(&one.pair));
        !self.pairs.contains(&one.pair) && (is_at_once || is_known())
    }

    fn add(&mut self, one: &PairSend, patterns: &[BTreeSet<Pair>]) {
        self.pairs.insert(one.pair);
        self.window.first = self.window.first.min(one.window.first);
        self.window.last = self.window.last.max(one.window.last);
        self.patterns.retain(|pattern| patterns[*pattern].contains(&one.pair));
    }
}

/// The number of each send's group: the first one that it can be in, not before those that its
/// ranks have taken part in.
fn assign(sends: &[PairSend], patterns: &[BTreeSet<Pair>]) -> Vec<usize> {
    let mut forming: Vec<Forming> = Vec::new();
    let mut latest: BTreeMap<End, usize> = BTreeMap::new();
    let mut numbers = Vec::with_capacity(sends.len());
    for one in sends {
        let known = [one.pair.0, one.pair.1].map(|end| latest.get(&end).copied().unwrap_or(0));
        let from = known[0].max(known[1]).max(forming.len().saturating_sub(OPEN_GROUPS));
        let open = forming.get(from..).unwrap_or(&[]);
        let place = open.iter().position(|group| group.takes(one, patterns));
        let number = place.map_or(forming.len(), |place| from + place);
        if number == forming.len() {
            let all = (0..patterns.len()).collect();
            let fresh = Forming { pairs: BTreeSet::new(), window: one.window, patterns: all };
            forming.push(fresh);
        }
        if let Some(group) = forming.get_mut(number) {
            group.add(one, patterns);
        }
        for end in [one.pair.0, one.pair.1] {
            latest.insert(end, number);
        }
        numbers.push(number);
    }
    numbers
}

/// The pairs of groups that were seen more than once, the most frequent first.
fn patterns(sends: &[PairSend], numbers: &[usize]) -> Vec<BTreeSet<Pair>> {
    let mut pairs: BTreeMap<usize, BTreeSet<Pair>> = BTreeMap::new();
    for (one, number) in sends.iter().zip(numbers) {
        pairs.entry(*number).or_default().insert(one.pair);
    }
    let mut counts: BTreeMap<BTreeSet<Pair>, usize> = BTreeMap::new();
    for pairs in pairs.into_values().filter(|pairs| pairs.len() > 1) {
        *counts.entry(pairs).or_default() += 1;
    }
    let mut seen: Vec<(BTreeSet<Pair>, usize)> =
        counts.into_iter().filter(|(_, count)| *count > 1).collect();
    seen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    seen.into_iter().take(PATTERNS).map(|(pairs, _)| pairs).collect()
}

/// The sends as groups, in order of time.
fn collect(sends: Vec<PairSend>, numbers: &[usize]) -> Vec<Group> {
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (one, number) in sends.into_iter().zip(numbers) {
        let group = groups.entry(*number).or_default();
        group.pairs.insert(one.pair);
        group.sends.push(one);
    }
    groups.into_values().collect()
}
