//! Ranks that are late more often, or by more, than chance explains.
//!
//! In every training step some rank is the last one. A rank stands out in one of four ways: it is
//! last far more often than its share (`often_last`); it is later than all others on average, by more
//! than the differences vary (`usually_later`); it is much later than the others usually are, again
//! and again, or in several training steps in a row (`events`). A job in which all ranks are alike
//! has a chance of `CHANCE` that a test ever names one of them, however often it is judged, and of
//! `COMMON_CHANCE` for the last where delays are common.

use std::collections::BTreeMap;

use super::Cause;
use super::chance;
use super::unit::{self, LEAST_UNITS, Unit, Units};
use crate::analysis::judged::JudgedCollective;
use crate::link::job::CommunicatorId;
use crate::model::spread::lower_median;
use crate::model::time::Span;

/// Chance that a test ever names a rank where all are alike.
const CHANCE: f64 = 2e-3;

/// The same for delays now and then, where they are common.
const COMMON_CHANCE: f64 = 2e-4;

/// Delays are common if the others have them in this share of their training steps: then they follow no
/// law that the job itself would show, and some of one rank come in a row more easily than reckoned.
const COMMON_SHARE: f64 = 0.05;

/// A rank that is always last must cost this share of a training step in the median: less is the
/// usual difference between hosts.
const LEAST_MEDIAN: f64 = 0.02;

/// A rank is late in a training step if it is late by this share of it ...
const LEAST_EVENT: f64 = 0.025;

/// ... and by this many halves of what the latest other rank is late by in all but a tenth of them.
const EVENT_HALVES: u64 = 3;

/// Fewer events name nobody.
const LEAST_EVENTS: usize = 3;

/// Fewer ranks have too few others to know how late these ever are.
const FEW_RANKS: usize = 4;

/// Parts of a rank's delays of which one by slow receiving explains all.
const PARTS_BY_RECEIVING: u64 = 2;

/// A rank that stands out, by what it does again and again or by what it cost.
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
    /// From the first late one to the last.
    pub span: Span,
}

/// The ranks that stand out, in every communicator.
#[must_use]
pub fn find(
    collectives: &[JudgedCollective],
    units: &BTreeMap<CommunicatorId, Units>,
) -> Vec<SignificantStraggler> {
    let of = unit::group(collectives);
    let own = |id| of.get(id).map_or(&[][..], Vec::as_slice);
    units.iter().flat_map(|(id, units)| stand_out(*id, units, own(id))).collect()
}

/// The ranks that stand out in `units`, in order of their numbers; `collectives` are the
/// communicator's.
fn stand_out(
    id: CommunicatorId,
    units: &Units,
    collectives: &[&JudgedCollective],
) -> Vec<SignificantStraggler> {
    let (ranks, length_ns) = (units.ranks(), units.length_ns());
    let units = units.all.as_slice();
    if units.len() < LEAST_UNITS || ranks.len() < 2 {
        return Vec::new();
    }
    let latest: Vec<_> = units.iter().map(Unit::latest).collect();
    let delays = Delays::new(units);
    let of = |rank: u32| Test {
        rank,
        all: ranks.len(),
        units,
        latest: &latest,
        delays: &delays,
        length_ns,
    };
    let found = ranks.iter().filter_map(|rank| {
        let late = of(*rank).late_units()?;
        let late: Vec<&Unit> = late.into_iter().filter_map(|at| units.get(at)).collect();
        of_units(id, *rank, &late, units.len(), collectives)
    });
    found.collect()
}

/// What is said of a rank that is late in the units `late`, of so many; `None` without any.
#[must_use]
pub fn of_units(
    communicator: CommunicatorId,
    rank: u32,
    late: &[&Unit],
    of: usize,
    collectives: &[&JudgedCollective],
) -> Option<SignificantStraggler> {
    let delays = || late.iter().map(|unit| unit.delay_ns(rank));
    let (first, last) = (late.first()?.span.first, late.last()?.span.last);
    Some(SignificantStraggler {
        communicator,
        rank,
        cause: usual_cause(rank, late, collectives),
        late: late.len() as u64,
        of: of as u64,
        usual_ns: lower_median(delays())?,
        total_ns: delays().sum(),
        span: Span { first, last },
    })
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

/// How late all ranks were in all training steps, the least first.
struct Delays {
    all: Vec<u64>,
    /// Of ranks that a collective of the training step names.
    named: Vec<u64>,
}

impl Delays {
    fn new(units: &[Unit]) -> Self {
        let all =
            units.iter().flat_map(|unit| unit.late_ns.keys().map(|rank| unit.delay_ns(*rank)));
        let named =
            units.iter().flat_map(|unit| unit.named.iter().map(|rank| unit.delay_ns(*rank)));
        let (mut all, mut named): (Vec<u64>, Vec<u64>) = (all.collect(), named.collect());
        all.sort_unstable();
        named.sort_unstable();
        Self { all, named }
    }

    /// How many are events: see `Limits`.
    fn events(&self, limits: Limits) -> usize {
        let above = |delays: &[u64], ns| delays.len() - delays.partition_point(|one| *one <= ns);
        let named = above(&self.named, limits.named_ns) - above(&self.named, limits.least_ns);
        above(&self.all, limits.least_ns) + named
    }
}

/// What a rank must be late by in a training step to be much later than others usually are.
#[derive(Clone, Copy)]
struct Limits {
    least_ns: u64,
    /// If a collective names the rank.
    named_ns: u64,
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
    delays: &'a Delays,
    length_ns: u64,
}

impl Test<'_> {
    /// The training steps in which it was late, if one of the tests names it.
    fn late_units(&self) -> Option<Vec<usize>> {
        let always = [self.often_last(), self.usually_later()].into_iter().flatten();
        let mut likely = always.filter(|(_, chance)| *chance < CHANCE).map(|(late, _)| late);
        likely.next().or_else(|| self.again_and_again())
    }

    /// The chance that evidence of this strength is ever found for any rank of a job of equals.
    fn chance(&self, evidence: f64) -> f64 {
        (self.all as f64 / evidence.max(f64::MIN_POSITIVE)).min(1.0)
    }

    /// The training steps in which it is last.
    fn often_last(&self) -> Option<(Vec<usize>, f64)> {
        let last = self.places(|at, unit| unit.delay_ns(self.rank) > self.others_ns(at));
        let evidence = chance::of_share(last.len(), self.units.len(), 1.0 / self.all as f64);
        self.is_much().then(|| (last, self.chance(evidence)))
    }

    /// On average later than the latest other: where all are alike, that mean is at most zero.
    fn usually_later(&self) -> Option<(Vec<usize>, f64)> {
        let later_ns = |(at, unit): (usize, &Unit)| self.later_than_others_ns(at, unit);
        let differences: Vec<f64> = self.units.iter().enumerate().filter_map(later_ns).collect();
        let chance = self.chance(chance::of_mean(&differences));
        let is_later =
            |at: usize, unit: &Unit| self.later_than_others_ns(at, unit).is_some_and(|ns| ns > 0.0);
        self.is_much().then(|| (self.places(is_later), chance))
    }

    /// Whether it is late by enough in the median training step to matter.
    fn is_much(&self) -> bool {
        let median_ns = lower_median(self.units.iter().map(|unit| unit.delay_ns(self.rank)));
        median_ns.unwrap_or(0) as f64 >= LEAST_MEDIAN * self.length_ns as f64
    }

    /// The training steps in which it is much later than the others, if they are so many, or so many in a
    /// row, that chance does not explain them.
    fn again_and_again(&self) -> Option<Vec<usize>> {
        let limits = self.limits();
        let events = self.events(limits);
        if events.len() < LEAST_EVENTS {
            return None;
        }
        // Where all are alike, each event is this rank's with the same chance as any other's.
        let all = self.delays.events(limits);
        let evidence = chance::of_share(events.len(), all, 1.0 / self.all as f64);
        let chance = self.chance(evidence).min(self.run_chance(&events, all));
        let of_others = (self.all - 1) * self.units.len();
        let is_common = (all - events.len()) as f64 > COMMON_SHARE * of_others as f64;
        (chance < if is_common { COMMON_CHANCE } else { CHANCE }).then_some(events)
    }

    /// The chance that some rank has such a run of events, of so many of all ranks.
    fn run_chance(&self, events: &[usize], all_events: usize) -> f64 {
        let in_a_row = longest_run(events);
        if in_a_row < LEAST_EVENTS {
            return 1.0;
        }
        let starts = self.all * self.units.len();
        let tries = starts - self.units.len();
        // How often any rank is so late is known from the others alone (rule of succession), and the
        // limit is theirs: that of one or two others fits these better than it fits this rank.
        let added = if self.all < FEW_RANKS { 2 } else { 1 };
        let others = all_events - events.len() + added;
        let again = |at: usize| (others + at) as f64 / (tries + added + 1 + at) as f64;
        starts as f64 * (0..in_a_row).map(again).product::<f64>()
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

    /// What the others are late by in all but a tenth of the training steps, and half of it more.
    fn limits(&self) -> Limits {
        let mut others: Vec<u64> = (0..self.units.len()).map(|at| self.others_ns(at)).collect();
        others.sort_unstable();
        let usual_ns = others.get(others.len() * 9 / 10).copied().unwrap_or(0);
        let named_ns = (LEAST_EVENT * self.length_ns as f64) as u64;
        Limits { least_ns: named_ns.max(usual_ns.saturating_mul(EVENT_HALVES) / 2), named_ns }
    }

    /// The training steps in which it was much later than others usually are.
    fn events(&self, limits: Limits) -> Vec<usize> {
        self.places(|_, unit| {
            let delay_ns = unit.delay_ns(self.rank);
            let is_named = unit.named.contains(&self.rank);
            delay_ns > limits.least_ns || (is_named && delay_ns > limits.named_ns)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::model::time::Timestamp;

    /// Training steps of 100 ms in which ranks are late by so many nanoseconds.
    fn units(late_ns: impl IntoIterator<Item = Vec<i64>>) -> Units {
        let unit = |(at, late_ns): (u64, Vec<i64>)| Unit {
            span: Span {
                first: Timestamp::from_nanos(at * 100_000_000),
                last: Timestamp::from_nanos((at + 1) * 100_000_000),
            },
            late_ns: (0..).zip(late_ns).collect(),
            named: BTreeSet::new(),
        };
        Units { all: (0..).zip(late_ns).map(unit).collect(), are_iterations: true }
    }

    fn names(late_ms: &[&[i64]]) -> Vec<u32> {
        let late_ns = late_ms.iter().map(|one| one.iter().map(|ms| ms * 1_000_000).collect());
        let found = stand_out(CommunicatorId(0), &units(late_ns), &[]);
        found.into_iter().map(|late| late.rank).collect()
    }

    #[test]
    fn a_rank_that_is_always_last_stands_out_though_nothing_proves_it() {
        let always: Vec<&[i64]> = vec![&[0, 1, 2, 5, 0, 1, 2, 1]; 5];
        assert_eq!(names(&always), [3]);
        let by_little: Vec<&[i64]> = vec![&[0, 0, 0, 1, 0, 0, 0, 0]; 30];
        assert_eq!(names(&by_little), [0; 0], "hosts always differ a little");
    }

    #[test]
    fn ranks_that_take_turns_do_not() {
        let turns: Vec<&[i64]> = (0..24)
            .map(|at| [&[20, 0, 5, 1][..], &[0, 20, 1, 5], &[5, 1, 20, 0], &[1, 5, 0, 20]][at % 4])
            .collect();
        assert_eq!(names(&turns), [0; 0]);
        let two: Vec<&[i64]> =
            (0..24).map(|at| [&[20, 0][..], &[0, 25]][at * at % 3 % 2]).collect();
        assert_eq!(names(&two), [0; 0]);
    }

    #[test]
    fn several_delays_in_a_row_stand_out_and_a_few_scattered_ones_do_not() {
        let late = |places: &[usize]| -> Vec<&[i64]> {
            (0..24)
                .map(|at| if places.contains(&at) { &[0, 1, 40, 0][..] } else { &[0, 1, 0, 1] })
                .collect()
        };
        assert_eq!(names(&late(&[4, 5, 6, 7, 8])), [2]);
        assert_eq!(names(&late(&[3, 17])), [0; 0]);
    }
    /// Pseudo-random numbers from 0 to 1 (splitmix64).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Even, normal, or with a heavy tail.
        fn variation(&mut self, shape: u64) -> f64 {
            match shape {
                0 => self.next(),
                1 => (0..12).map(|_| self.next()).sum::<f64>() / 6.0,
                _ => (1.0 - self.next()).powf(-0.4),
            }
        }

        /// Training steps of a job whose ranks are all alike.
        fn job(&mut self, shape: u64) -> Units {
            let (ranks, iterations) =
                (2 + (7.0 * self.next()) as usize, 5 + (40.0 * self.next()) as usize);
            let most_ns = 1e6 + 29e6 * self.next();
            units((0..iterations).map(|_| {
                let mut late: Vec<i64> =
                    (0..ranks).map(|_| (most_ns * self.variation(shape)) as i64).collect();
                let middle = lower_median(late.iter().copied()).unwrap();
                late.iter_mut().for_each(|late_ns| *late_ns -= middle);
                late
            }))
        }
    }

    /// The ranks that are named first, where the job is judged after each training step.
    fn ever_named(units: &Units) -> Option<Vec<u32>> {
        (LEAST_UNITS..=units.all.len()).find_map(|until| {
            let seen = Units { all: units.all[..until].to_vec(), are_iterations: true };
            let found = stand_out(CommunicatorId(0), &seen, &[]);
            (!found.is_empty()).then(|| found.into_iter().map(|late| late.rank).collect())
        })
    }

    #[test]
    fn chance_hardly_ever_names_a_rank() {
        const JOBS: usize = 1_000;
        for shape in 0..3 {
            let mut random = Random(7 + shape);
            let (mut iterations, mut alarms) = (0, 0);
            for _ in 0..JOBS {
                let units = random.job(shape);
                iterations += units.all.len();
                alarms += usize::from(ever_named(&units).is_some());
            }
            assert!(
                alarms * 4000 < iterations,
                "shape {shape}: {alarms} alarms in {iterations} steps"
            );
            assert!(alarms * 200 < JOBS, "shape {shape}: {alarms} of {JOBS} jobs");
        }
    }

    #[test]
    fn three_standard_deviations_name_the_rank_in_a_few_training_steps() {
        // docs/verdicts.md: in nine of ten jobs.
        for (ranks, iterations) in [(2, 14), (3, 15), (4, 10), (8, 8)] {
            let mut random = Random(ranks);
            let named = |_: &i32| {
                let units = units((0..iterations).map(|_| {
                    let delay = |rank| if rank == 0 { 3_000_000 } else { 0 };
                    let varied = |rank| delay(rank) + (6e6 * random.variation(1)) as i64;
                    let mut late: Vec<i64> = (0..ranks).map(varied).collect();
                    let middle = lower_median(late.iter().copied()).unwrap();
                    late.iter_mut().for_each(|late_ns| *late_ns -= middle);
                    late
                }));
                ever_named(&units).is_some_and(|named| named == [0])
            };
            let named = (0..200).filter(named).count();
            assert!(named >= 170, "{ranks} ranks: {named} of 200");
        }
    }
}
