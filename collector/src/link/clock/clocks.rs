//! The clocks of all taps, each against a reference: the tap with the lowest number of those that
//! packets relate it to. Among all ways there the relations that are known best are gone.

use std::collections::{BTreeMap, BTreeSet};

use super::sighting::{Pair, Route, Sightings};
use super::track::{Piece, Track, WhyUnknown};
use super::upstream::{self, Upstream};
use crate::link::position::TapPosition;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// The clock of one tap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TapClock {
    /// The tap that it is compared with, the same one for all taps that packets relate; itself for
    /// that one. `None` where packets relate it to no tap.
    pub reference: Option<TapId>,
    /// How far it is ahead of the reference.
    pub track: Track,
    /// Why that is not known, or not how well; `None` where it is, and where there is one tap only.
    pub why_unknown: Option<WhyUnknown>,
}

/// The clocks of all taps, by number.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    taps: Vec<TapClock>,
}

/// What two taps saw together.
struct Relation<'a> {
    pairs: &'a [Pair],
    upstream: Upstream,
}

impl Clocks {
    /// Relates the clocks of taps at `positions` by what they saw.
    #[must_use]
    pub fn find(sightings: &Sightings, positions: &[TapPosition]) -> Self {
        let pairs = sightings.pairs();
        let relations: BTreeMap<[TapId; 2], Relation<'_>> = pairs
            .iter()
            .filter_map(|(taps, pairs)| {
                Some((*taps, Relation::new(pairs, sightings.routes(), *taps, positions)?))
            })
            .collect();
        let mut failures: BTreeMap<TapId, WhyUnknown> = BTreeMap::new();
        let mut known = Vec::new();
        for (taps, relation) in &relations {
            match Track::find(relation.pairs, &relation.upstream, 1) {
                // What is known from one side only comes last.
                Ok(track) => known.push((track.uncertainty_ns.unwrap_or(u64::MAX), *taps)),
                Err(why) => {
                    for tap in taps {
                        failures.entry(*tap).or_insert(why);
                    }
                }
            }
        }
        known.sort_unstable();
        let neighbours = spanning(&known, positions.len());
        let mut clocks = Self { taps: vec![TapClock::default(); positions.len()] };
        for root in (0..positions.len()).map(|tap| TapId(tap as u32)) {
            if clocks.of(root).is_none_or(|clock| clock.reference.is_none()) {
                clocks.relate(root, &neighbours, &relations);
            }
        }
        if positions.len() > 1 {
            for (tap, clock) in (0..).zip(&mut clocks.taps) {
                let is_alone = clock.reference.is_none();
                let why = failures.get(&TapId(tap)).copied().unwrap_or(WhyUnknown::NoCommonPackets);
                clock.why_unknown = clock.why_unknown.or(is_alone.then_some(why));
            }
        }
        clocks
    }

    /// Relates all taps that can be reached from `root` to it.
    fn relate(
        &mut self,
        root: TapId,
        neighbours: &BTreeMap<TapId, BTreeSet<TapId>>,
        relations: &BTreeMap<[TapId; 2], Relation<'_>>,
    ) {
        let mut waiting = vec![root];
        while let Some(parent) = waiting.pop() {
            for child in neighbours.get(&parent).into_iter().flatten() {
                if self.of(*child).is_none_or(|clock| clock.reference.is_some()) || *child == root {
                    continue;
                }
                let taps = [parent.min(*child), parent.max(*child)];
                let which = usize::from(*child == taps[1]);
                let relation = relations.get(&taps);
                let track = relation.and_then(|relation| {
                    Track::find(relation.pairs, &relation.upstream, which).ok()
                });
                let Some(track) = track else { continue };
                let on_the_way = &self.taps[parent.0 as usize].track;
                let track = if parent == root { track } else { composed(&track, on_the_way) };
                let is_bounded = track.uncertainty_ns.is_some();
                self.taps[child.0 as usize] = TapClock {
                    reference: Some(root),
                    track,
                    why_unknown: (!is_bounded).then_some(WhyUnknown::OneWay),
                };
                let reference = &mut self.taps[root.0 as usize];
                reference.reference = Some(root);
                reference.track.uncertainty_ns = Some(0);
                reference.track.drift_uncertainty = Some(0.0);
                waiting.push(*child);
            }
        }
    }

    /// The clock of a tap; `None` where none was related.
    #[must_use]
    pub fn of(&self, tap: TapId) -> Option<&TapClock> {
        self.taps.get(tap.0 as usize)
    }

    /// What the reference's clock shows when the clock of `tap` shows `time`.
    #[must_use]
    pub fn aligned(&self, tap: TapId, time: Timestamp) -> Timestamp {
        self.of(tap).map_or(time, |clock| clock.track.other_at(time))
    }

    /// Whether any clock is corrected.
    #[must_use]
    pub fn corrects(&self) -> bool {
        self.taps.iter().any(|clock| !clock.track.pieces.is_empty())
    }
}

impl<'a> Relation<'a> {
    fn new(
        pairs: &'a [Pair],
        routes: &[Route],
        taps: [TapId; 2],
        positions: &[TapPosition],
    ) -> Option<Self> {
        let [first, second] = taps.map(|tap| positions.get(tap.0 as usize));
        Some(Self { pairs, upstream: upstream::find(pairs, routes, [first?, second?]) })
    }
}

/// The relations that are kept: of those that would close a circle, the last ones go (Kruskal).
fn spanning(known: &[(u64, [TapId; 2])], taps: usize) -> BTreeMap<TapId, BTreeSet<TapId>> {
    let mut leaders: Vec<usize> = (0..taps).collect();
    let mut neighbours: BTreeMap<TapId, BTreeSet<TapId>> = BTreeMap::new();
    for (_, [one, other]) in known {
        let [a, b] = [one, other].map(|tap| leader(&mut leaders, tap.0 as usize));
        if a != b {
            leaders[a.max(b)] = a.min(b);
            neighbours.entry(*one).or_default().insert(*other);
            neighbours.entry(*other).or_default().insert(*one);
        }
    }
    neighbours
}

fn leader(leaders: &mut [usize], mut tap: usize) -> usize {
    while leaders[tap] != tap {
        leaders[tap] = leaders[leaders[tap]];
        tap = leaders[tap];
    }
    tap
}

/// How far a clock is ahead of a second one's reference: so far as `near` says of the second one,
/// and the second one so far as `far` says.
fn composed(near: &Track, far: &Track) -> Track {
    let begins = |piece: &Piece| near.ahead_at(piece.start);
    let bends = far.pieces.iter().map(|piece| {
        let about = piece.start.minus_nanos(begins(piece).saturating_neg());
        piece.start.minus_nanos(near.ahead_at(about).saturating_neg())
    });
    let mut starts: Vec<Timestamp> = near.pieces.iter().map(|piece| piece.start).collect();
    starts.extend(bends);
    starts.sort_unstable();
    starts.dedup();
    let pieces = starts.into_iter().map(|start| {
        let second = near.other_at(start);
        Piece {
            start,
            ahead_ns: near.ahead_at(start).saturating_add(far.ahead_at(second)),
            drift: 1.0 - (1.0 - near.drift_at(start)) * (1.0 - far.drift_at(second)),
        }
    });
    Track {
        pieces: pieces.collect(),
        uncertainty_ns: near
            .uncertainty_ns
            .zip(far.uncertainty_ns)
            .map(|(one, other)| one.saturating_add(other)),
        drift_uncertainty: near
            .drift_uncertainty
            .zip(far.drift_uncertainty)
            .map(|(one, other)| one + other),
    }
}
