//! Ranks that are late more often, or by more, than chance explains.
//!
//! In every training step some rank is the last one. A rank stands out in one of four ways: it is
//! last far more often than its share (`often_last`); it is later than all others on average, by more
//! than the differences vary (`usually_later`); it is much later than the others ever are, again
//! and again, or in several training steps in a row (`events`). Each test names a rank of a job in
//! which all ranks are alike with a probability of `CHANCE`, over all ranks.

use std::collections::{BTreeMap, BTreeSet};

use super::Cause;
use crate::analysis::iteration::Iteration;
use crate::analysis::judged::JudgedCollective;
use crate::link::job::CommunicatorId;
use crate::model::spread::lower_median;
use crate::model::time::Span;

/// Chance that a test names a rank where all are alike.
const CHANCE: f64 = 2e-3;

/// A rank that is always last must cost this share of a training step in the median: less is the
/// usual difference between hosts.
const LEAST_MEDIAN: f64 = 0.02;

/// A rank is late in a training step if it is late by this share of it ...
const LEAST_EVENT: f64 = 0.025;

/// ... and by this many halves of what the latest other rank is late by in all but a tenth of them.
const EVENT_HALVES: u64 = 3;

/// Fewer events name nobody.
const LEAST_EVENTS: usize = 3;

/// Parts of a rank's delays of which one by slow receiving explains all.
const PARTS_BY_RECEIVING: u64 = 2;

/// Fewer training steps say nothing.
const LEAST_UNITS: usize = 5;

/// A rank that stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignificantStraggler {
    /// Its communicator.
    pub communicator: CommunicatorId,
    /// The rank.
    pub rank: u32,
    /// Why it was late most of the time.
    pub cause: Cause,
    /// Training steps, or collectives without known training steps, in which it was late.
    pub late: u64,
    /// Of so many.
    pub of: u64,
    /// The middle of these delays.
    pub usual_ns: u64,
    /// Their sum.
    pub total_ns: u64,
    /// The chance that a rank of a job of equals is so late.
    pub chance: f64,
    /// From the first late one to the last.
    pub span: Span,
}

/// How late each rank was in one training step.
#[derive(Clone, Debug)]
struct Unit {
    span: Span,
    /// How late, compared with the middle rank; negative if early.
    late_ns: BTreeMap<u32, i64>,
    /// The ranks that its collectives name by themselves.
    named: BTreeSet<u32>,
}

impl Unit {
    const fn new(span: Span) -> Self {
        Self { span, late_ns: BTreeMap::new(), named: BTreeSet::new() }
    }

    /// Notes how late ranks came to one of its collectives; the latest counts.
    fn observe(&mut self, judged: &JudgedCollective) {
        for rank in &judged.waits.ranks {
            if let Some(lateness) = rank.lateness {
                self.add(rank.rank, lateness.late_ns);
            }
        }
        for own in &judged.own_times {
            if let Some(stopped_ns) = own.sender_ns {
                self.add(own.rank, i64::try_from(stopped_ns).unwrap_or(i64::MAX));
            }
        }
        let own_fault = judged.straggler.as_ref().filter(|one| one.cause.is_own());
        self.named.extend(own_fault.map(|one| one.rank));
    }

    fn add(&mut self, rank: u32, late_ns: i64) {
        let late = self.late_ns.entry(rank).or_insert(i64::MIN);
        *late = late_ns.max(*late);
    }

    /// How late a rank was; 0 if it was early, or nothing is known.
    fn delay_ns(&self, rank: u32) -> u64 {
        self.late_ns.get(&rank).map_or(0, |late_ns| u64::try_from(*late_ns).unwrap_or(0))
    }

    /// The latest rank and the next one, with how late they were.
    fn latest(&self) -> [Option<(i64, u32)>; 2] {
        let (mut latest, mut second) = (None, None);
        for (rank, late_ns) in &self.late_ns {
            let one = Some((*late_ns, *rank));
            if one > latest {
                (latest, second) = (one, latest);
            } else if one > second {
                second = one;
            }
        }
        [latest, second]
    }
}

/// The ranks that stand out, in every communicator.
#[must_use]
pub fn find(
    collectives: &[JudgedCollective],
    iterations: &[(&Iteration, bool)],
) -> Vec<SignificantStraggler> {
    let mut by_communicator: BTreeMap<CommunicatorId, Vec<&JudgedCollective>> = BTreeMap::new();
    for judged in collectives {
        by_communicator.entry(judged.collective.communicator).or_default().push(judged);
    }
    let mut units = units_of_iterations(collectives, iterations);
    let stand_out = |(id, own): (CommunicatorId, Vec<&JudgedCollective>)| {
        let known = units.remove(&id).filter(|units| !units.is_empty());
        let units = known.unwrap_or_else(|| units_of_collectives(&own));
        // The first one warms up: compilers, caches, allocators.
        stand_out(id, units.get(1..).unwrap_or_default(), &own)
    };
    by_communicator.into_iter().flat_map(stand_out).collect()
}

/// The training steps of each communicator, without those that set up connections.
fn units_of_iterations(
    collectives: &[JudgedCollective],
    iterations: &[(&Iteration, bool)],
) -> BTreeMap<CommunicatorId, Vec<Unit>> {
    let mut units: BTreeMap<CommunicatorId, Vec<Unit>> = BTreeMap::new();
    for (iteration, _) in iterations.iter().filter(|(_, sets_up)| !sets_up) {
        let mut own: BTreeMap<CommunicatorId, Unit> = BTreeMap::new();
        for judged in iteration.collectives.iter().filter_map(|at| collectives.get(*at)) {
            let unit = own.entry(judged.collective.communicator);
            unit.or_insert_with(|| Unit::new(iteration.span)).observe(judged);
        }
        for (id, unit) in own.into_iter().filter(|(_, unit)| !unit.late_ns.is_empty()) {
            units.entry(id).or_default().push(unit);
        }
    }
    units
}

/// Each collective by itself, where there are no training steps.
fn units_of_collectives(collectives: &[&JudgedCollective]) -> Vec<Unit> {
    let unit = |judged: &&JudgedCollective| {
        let mut unit = Unit::new(judged.collective.span);
        unit.observe(judged);
        unit
    };
    collectives.iter().map(unit).filter(|unit| !unit.late_ns.is_empty()).collect()
}

/// The ranks that stand out in `units`, in order of time; `collectives` are the communicator's.
fn stand_out(
    id: CommunicatorId,
    units: &[Unit],
    collectives: &[&JudgedCollective],
) -> Vec<SignificantStraggler> {
    if units.len() < LEAST_UNITS {
        return Vec::new();
    }
    let ranks: BTreeSet<u32> = units.iter().flat_map(|unit| unit.late_ns.keys().copied()).collect();
    if ranks.len() < 2 {
        return Vec::new();
    }
    let lengths = units.iter().map(|unit| unit.span.length_ns());
    let length_ns = lower_median(lengths).unwrap_or(0);
    let latest: Vec<_> = units.iter().map(Unit::latest).collect();
    let of = |rank: u32| Test { rank, all: ranks.len(), units, latest: &latest, length_ns };
    let events: BTreeMap<u32, Vec<usize>> =
        ranks.iter().map(|rank| (*rank, of(*rank).events())).collect();
    let all_events: usize = events.values().map(Vec::len).sum();
    let found = events.iter().filter_map(|(rank, events)| {
        let (late, chance) = of(*rank).late_units(events, all_events - events.len())?;
        let late: Vec<&Unit> = late.into_iter().filter_map(|at| units.get(at)).collect();
        let delays = || late.iter().map(|unit| unit.delay_ns(*rank));
        let (first, last) = (late.first()?.span.first, late.last()?.span.last);
        Some(SignificantStraggler {
            communicator: id,
            rank: *rank,
            cause: usual_cause(*rank, &late, collectives),
            late: late.len() as u64,
            of: units.len() as u64,
            usual_ns: lower_median(delays())?,
            total_ns: delays().sum(),
            chance,
            span: Span { first, last },
        })
    });
    found.collect()
}

/// The cause of most of a rank's lateness. A rank that takes data slowly comes late, too, but not the
/// other way round: slow receiving is the cause if it is half of the time.
fn usual_cause(rank: u32, late: &[&Unit], collectives: &[&JudgedCollective]) -> Cause {
    let mut causes: BTreeMap<Cause, u64> = BTreeMap::new();
    let is_late = |one: &&&JudgedCollective| {
        let middle = one.collective.span.middle();
        let next = late.partition_point(|unit| unit.span.first <= middle);
        let last = next.checked_sub(1).and_then(|at| late.get(at));
        last.is_some_and(|unit| middle <= unit.span.last)
    };
    let late = collectives.iter().filter(is_late).flat_map(|judged| &judged.contributions);
    for one in late.filter(|one| one.rank == rank) {
        if one.cause.is_own() || one.cause == Cause::Receiver {
            *causes.entry(one.cause).or_default() += one.ns;
        }
    }
    let all_ns: u64 = causes.values().sum();
    if causes.get(&Cause::Receiver).is_some_and(|ns| *ns > 0 && *ns >= all_ns / PARTS_BY_RECEIVING)
    {
        return Cause::Receiver;
    }
    causes.into_iter().max_by_key(|(_, ns)| *ns).map_or(Cause::Sender, |(cause, _)| cause)
}

/// One rank among others.
#[derive(Clone, Copy)]
struct Test<'a> {
    rank: u32,
    /// Number of ranks.
    all: usize,
    units: &'a [Unit],
    /// The two latest ranks of each unit.
    latest: &'a [[Option<(i64, u32)>; 2]],
    length_ns: u64,
}

impl Test<'_> {
    /// The training steps in which it was late, if one of the tests names it, with the chance of
    /// that. `events` are its own, beside so many of others.
    fn late_units(&self, events: &[usize], others: usize) -> Option<(Vec<usize>, f64)> {
        [self.often_last(), self.usually_later(), self.again_and_again(events, others)]
            .into_iter()
            .flatten()
            .find(|(_, chance)| *chance < CHANCE)
    }

    /// The training steps in which it is last.
    fn often_last(&self) -> Option<(Vec<usize>, f64)> {
        let all = self.all as f64;
        let last = self.places(|at, unit| unit.delay_ns(self.rank) > self.others_ns(at));
        let chance = all * binomial_tail(self.units.len(), last.len(), 1.0 / all);
        self.is_much().then_some((last, chance))
    }

    /// Student's t-test on how much later it is than the latest other: where all are alike, the mean
    /// is at most zero.
    fn usually_later(&self) -> Option<(Vec<usize>, f64)> {
        let later_ns = |(at, unit): (usize, &Unit)| self.later_than_others_ns(at, unit);
        let differences: Vec<f64> = self.units.iter().enumerate().filter_map(later_ns).collect();
        let chance = self.all as f64 * mean_above_zero(&differences);
        let is_later =
            |at: usize, unit: &Unit| self.later_than_others_ns(at, unit).is_some_and(|ns| ns > 0.0);
        self.is_much().then(|| (self.places(is_later), chance))
    }

    /// Whether it is late by enough in the median training step to matter.
    fn is_much(&self) -> bool {
        let median_ns = lower_median(self.units.iter().map(|unit| unit.delay_ns(self.rank)));
        median_ns.unwrap_or(0) as f64 >= LEAST_MEDIAN * self.length_ns as f64
    }

    /// The training steps in which it is much later than the others, if there are many, or some in a
    /// row.
    fn again_and_again(&self, events: &[usize], others: usize) -> Option<(Vec<usize>, f64)> {
        if events.len() < LEAST_EVENTS {
            return None;
        }
        let all = self.all as f64;
        let tries = self.units.len() * (self.all - 1);
        let chance = all * more_than_others((events.len(), self.units.len()), (others, tries));
        // How often any rank is so late, judged by the others (rule of succession).
        let share = (others + 1) as f64 / (tries + 1) as f64;
        let in_a_row = longest_run(events);
        let run_chance = all * self.units.len() as f64 * share.powi(in_a_row as i32);
        let chance = chance.min(if in_a_row >= LEAST_EVENTS { run_chance } else { 1.0 });
        Some((events.to_vec(), chance))
    }

    /// How late the latest other rank was, compared with the middle one.
    fn latest_other(&self, at: usize) -> Option<i64> {
        let latest = self.latest.get(at)?.iter().flatten();
        latest.filter(|(_, rank)| *rank != self.rank).map(|(late_ns, _)| *late_ns).next()
    }

    /// The same; 0 if all others were early.
    fn others_ns(&self, at: usize) -> u64 {
        self.latest_other(at).map_or(0, |late_ns| u64::try_from(late_ns).unwrap_or(0))
    }

    /// How much later it is than the latest other, in nanoseconds; negative if earlier.
    fn later_than_others_ns(&self, at: usize, unit: &Unit) -> Option<f64> {
        Some((unit.late_ns.get(&self.rank)? - self.latest_other(at)?) as f64)
    }

    /// The training steps in which it was much later than others usually are.
    fn events(&self) -> Vec<usize> {
        let mut others: Vec<u64> = (0..self.units.len()).map(|at| self.others_ns(at)).collect();
        others.sort_unstable();
        let usual_ns = others.get(others.len() * 9 / 10).copied().unwrap_or(0);
        let share_ns = (LEAST_EVENT * self.length_ns as f64) as u64;
        let least_ns = share_ns.max(usual_ns.saturating_mul(EVENT_HALVES) / 2);
        self.places(|_, unit| {
            let delay_ns = unit.delay_ns(self.rank);
            delay_ns > least_ns || (unit.named.contains(&self.rank) && delay_ns > share_ns)
        })
    }

    fn places(&self, is: impl Fn(usize, &Unit) -> bool) -> Vec<usize> {
        let units = self.units.iter().enumerate();
        units.filter(|(at, unit)| is(*at, unit)).map(|(at, _)| at).collect()
    }
}

/// The longest run of places in a row.
fn longest_run(places: &[usize]) -> usize {
    places.chunk_by(|one, next| one + 1 == *next).map(<[usize]>::len).max().unwrap_or(0)
}

/// The chance of at least `hits` of `tries`, each with probability `share`.
fn binomial_tail(tries: usize, hits: usize, share: f64) -> f64 {
    let mut term = (1.0 - share).powi(i32::try_from(tries).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for hit in 0..hits {
        below += term;
        term *= (tries - hit) as f64 / (hit + 1) as f64 * share / (1.0 - share);
    }
    // What is left of rounding is no probability.
    if below > 1.0 - 1e-9 { upper_tail(tries, hits, share) } else { 1.0 - below }
}

/// The same, added up from `hits`: exact where the chance is small.
fn upper_tail(tries: usize, hits: usize, share: f64) -> f64 {
    let (tries, mut hit) = (tries as f64, hits as f64);
    let mut term =
        (ln_choose(tries, hit) + hit * share.ln() + (tries - hit) * (1.0 - share).ln()).exp();
    let mut sum = 0.0;
    while hit <= tries && term > 0.0 {
        sum += term;
        term *= (tries - hit) / (hit + 1.0) * share / (1.0 - share);
        hit += 1.0;
    }
    sum
}

/// Student's t-test, one-sided: the chance that independent values with mean zero have such a mean.
fn mean_above_zero(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < LEAST_UNITS || mean <= 0.0 {
        return 1.0;
    }
    let error = (squares / (count - 1.0) / count).sqrt();
    student_tail(mean / error.max(f64::MIN_POSITIVE), values.len() - 1)
}

/// The upper tail of Student's t distribution (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn student_tail(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (cos, cos2) = (angle.cos(), angle.cos().powi(2));
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum, mut at) = if is_odd { (cos, 0.0, 3) } else { (1.0, 0.0, 2) };
    while at <= freedom {
        sum += term;
        term *= cos2 * (at - 1) as f64 / at as f64;
        at += 2;
    }
    let within = if is_odd {
        let more = if freedom > 1 { angle.sin() * sum } else { 0.0 };
        (angle + more) * std::f64::consts::FRAC_2_PI
    } else {
        angle.sin() * sum
    };
    ((1.0 - within) / 2.0).max(0.0)
}

/// Fisher's exact test, one-sided: the chance that so many of the events are the first one's.
fn more_than_others(own: (usize, usize), others: (usize, usize)) -> f64 {
    let (events, tries) = (own.0 + others.0, own.1 + others.1);
    let ln = |choose: (usize, usize)| ln_choose(choose.0 as f64, choose.1 as f64);
    let least = own.0;
    let most = events.min(own.1);
    (least..=most)
        .map(|hits| {
            let of_others = events - hits;
            if of_others > others.1 {
                return 0.0;
            }
            (ln((own.1, hits)) + ln((others.1, of_others)) - ln((tries, events))).exp()
        })
        .sum()
}

/// The logarithm of the binomial coefficient.
fn ln_choose(of: f64, take: f64) -> f64 {
    let mut sum = 0.0;
    let mut at = 0.0;
    while at < take {
        sum += ((of - at) / (at + 1.0)).ln();
        at += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::Timestamp;

    /// Training steps of 100 ms in which ranks are late by `late_ms`.
    fn units(late_ms: &[&[u64]]) -> Vec<Unit> {
        let unit = |(at, late_ms): (u64, &&[u64])| Unit {
            span: Span {
                first: Timestamp::from_nanos(at * 100_000_000),
                last: Timestamp::from_nanos((at + 1) * 100_000_000),
            },
            late_ns: (0..).zip(*late_ms).map(|(rank, ms)| (rank, *ms as i64 * 1_000_000)).collect(),
            named: BTreeSet::new(),
        };
        (0..).zip(late_ms).map(unit).collect()
    }

    fn names(late_ms: &[&[u64]]) -> Vec<u32> {
        let found = stand_out(CommunicatorId(0), &units(late_ms), &[]);
        found.into_iter().map(|late| late.rank).collect()
    }

    #[test]
    fn a_rank_that_is_always_last_stands_out_though_nothing_proves_it() {
        let always: Vec<&[u64]> = vec![&[0, 1, 2, 5, 0, 1, 2, 1]; 5];
        assert_eq!(names(&always), [3]);
        let by_little: Vec<&[u64]> = vec![&[0, 0, 0, 1, 0, 0, 0, 0]; 30];
        assert_eq!(names(&by_little), [0; 0], "hosts always differ a little");
    }

    #[test]
    fn ranks_that_take_turns_do_not() {
        let turns: Vec<&[u64]> = (0..24)
            .map(|at| [&[20, 0, 5, 1][..], &[0, 20, 1, 5], &[5, 1, 20, 0], &[1, 5, 0, 20]][at % 4])
            .collect();
        assert_eq!(names(&turns), [0; 0]);
        let two: Vec<&[u64]> =
            (0..24).map(|at| [&[20, 0][..], &[0, 25]][at * at % 3 % 2]).collect();
        assert_eq!(names(&two), [0; 0]);
    }

    #[test]
    fn several_delays_in_a_row_stand_out_and_a_few_scattered_ones_do_not() {
        let late = |places: &[usize]| -> Vec<&[u64]> {
            (0..24)
                .map(|at| if places.contains(&at) { &[0, 1, 40, 0][..] } else { &[0, 1, 0, 1] })
                .collect()
        };
        assert_eq!(names(&late(&[4, 5, 6, 7, 8])), [2]);
        assert_eq!(names(&late(&[3, 17])), [0; 0]);
    }

    #[test]
    fn tails_are_right() {
        assert!((binomial_tail(5, 5, 0.125) - 0.125_f64.powi(5)).abs() < 1e-12);
        assert!((binomial_tail(4, 0, 0.3) - 1.0).abs() < 1e-12);
        assert!((binomial_tail(3, 2, 0.5) - 0.5).abs() < 1e-12);
        assert!((more_than_others((3, 3), (0, 3)) - 0.05).abs() < 1e-12);
        // Tables of Student's distribution: 95 % and 99.9 %.
        for (t, freedom, tail) in
            [(2.132, 4, 0.05), (7.173, 4, 0.001), (2.015, 5, 0.05), (6.314, 1, 0.05)]
        {
            assert!(
                (student_tail(t, freedom) - tail).abs() < tail * 0.01,
                "{freedom}: {}",
                student_tail(t, freedom)
            );
        }
    }
}
