//! How late each rank was in each training step: what tests over many of them compare.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::judged::{JudgedCollective, JudgedIteration};
use crate::link::job::CommunicatorId;
use crate::model::spread::lower_median;
use crate::model::time::Span;

/// Fewer say nothing.
pub const LEAST_UNITS: usize = 5;

/// The units of one communicator, in order of time.
#[derive(Clone, Debug, Default)]
pub struct Units {
    /// Without the first one, which warms up: compilers, caches, allocators.
    pub all: Vec<Unit>,
    /// They are training steps; else collectives, where there are no training steps.
    pub are_iterations: bool,
}

impl Units {
    /// Their ranks.
    #[must_use]
    pub fn ranks(&self) -> BTreeSet<u32> {
        self.all.iter().flat_map(|unit| unit.late_ns.keys().copied()).collect()
    }

    /// The median length in nanoseconds; 0 without units.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        lower_median(self.all.iter().map(|unit| unit.span.length_ns())).unwrap_or(0)
    }
}

/// The collectives of each communicator.
#[must_use]
pub fn group(collectives: &[JudgedCollective]) -> BTreeMap<CommunicatorId, Vec<&JudgedCollective>> {
    let mut groups: BTreeMap<CommunicatorId, Vec<&JudgedCollective>> = BTreeMap::new();
    for judged in collectives {
        groups.entry(judged.collective.communicator).or_default().push(judged);
    }
    groups
}

/// The units of every communicator.
#[must_use]
pub fn by_communicator(
    collectives: &[JudgedCollective],
    iterations: &[JudgedIteration],
) -> BTreeMap<CommunicatorId, Units> {
    let mut known = units_of_iterations(collectives, iterations);
    let units = |(id, own): (CommunicatorId, Vec<&JudgedCollective>)| {
        let known = known.remove(&id);
        let are_iterations = known.is_some();
        let all = known.unwrap_or_else(|| units_of_collectives(&own));
        (id, Units { all, are_iterations })
    };
    group(collectives).into_iter().map(units).collect()
}

/// The training steps of each communicator that has any.
fn units_of_iterations(
    collectives: &[JudgedCollective],
    iterations: &[JudgedIteration],
) -> BTreeMap<CommunicatorId, Vec<Unit>> {
    let mut units: BTreeMap<CommunicatorId, Vec<Unit>> = BTreeMap::new();
    for iteration in iterations.iter().map(|judged| &judged.iteration) {
        let mut own: BTreeMap<CommunicatorId, Unit> = BTreeMap::new();
        for judged in iteration.collectives.iter().filter_map(|at| collectives.get(*at)) {
            let unit = own.entry(judged.collective.communicator);
            unit.or_insert_with(|| Unit::new(iteration.span)).observe(judged);
        }
        for (id, unit) in own {
            let all = units.entry(id).or_default();
            if iteration.number > 0 && !unit.late_ns.is_empty() {
                all.push(unit);
            }
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
    let units = collectives.iter().map(unit);
    units.filter(|unit| !unit.late_ns.is_empty()).skip(1).collect()
}

/// How late each rank was in one training step.
#[derive(Clone, Debug)]
pub struct Unit {
    /// From its first data to the next one's.
    pub span: Span,
    /// How late, compared with the middle rank; negative if early.
    pub late_ns: BTreeMap<u32, i64>,
    /// The ranks that its collectives name by themselves.
    pub named: BTreeSet<u32>,
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
    #[must_use]
    pub fn delay_ns(&self, rank: u32) -> u64 {
        self.late_ns.get(&rank).map_or(0, |late_ns| u64::try_from(*late_ns).unwrap_or(0))
    }

    /// The latest rank and the next one, with how late they were.
    #[must_use]
    pub fn latest(&self) -> [Option<(i64, u32)>; 2] {
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
