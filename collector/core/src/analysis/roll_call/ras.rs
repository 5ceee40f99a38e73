//! What answers of RAS show.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::DateTime;

use crate::decode::ras::{RasCommunicator, RasProcess, RasStatus};

/// Shortest time between two answers that can show that nothing moves, in seconds: RAS should be asked no more
/// often.
const APART_S: i64 = 10;

/// What RAS shows of one communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasRoll {
    /// Its `commHash`; `None` for processes that RAS does not place in one.
    pub hash: Option<u64>,
    /// What is wrong.
    pub outcome: RasOutcome,
}

/// What is wrong with a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RasOutcome {
    /// Ranks have launched fewer collectives of a kind than others.
    Behind(Behind),
    /// Ranks have launched more of one function than others, and less of another: one program, run by all,
    /// cannot do that at any moment.
    Unlike(Unlike),
    /// Processes that do not answer; `true`: RAS gave them up.
    Silent(Vec<RasProcess>, bool),
    /// Ranks with an error, and its name.
    Failed(Vec<RasProcess>, String),
}

/// Ranks that have launched fewer collectives of a kind than others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// Those that have launched the fewest.
    pub ranks: Vec<RasProcess>,
    /// Their numbers, if RAS names only the others: NCCL's text lists the smaller group.
    pub unnamed: Vec<u32>,
    /// How many there are; more than `ranks` if RAS did not name them.
    pub count: u64,
    /// Of so many that answered.
    pub of: u64,
    /// `AllReduce`; empty for all kinds together.
    pub function: String,
    /// How many they have launched.
    pub launched: u64,
    /// How many the foremost have launched.
    pub foremost: u64,
    /// Two answers, and no rank has moved in between.
    pub is_still: bool,
}

/// Two groups of ranks that launched different collectives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlike {
    /// The function that the few launched more of, and that of which they launched less.
    pub functions: [String; 2],
    /// The smaller group, and what it has launched of both.
    pub few: (Vec<RasProcess>, [u64; 2]),
    /// The other group, and what it has launched of both.
    pub others: (Vec<RasProcess>, [u64; 2]),
}

impl Behind {
    /// Whether they are few enough to be the cause: where most are behind, one rank has left a collective
    /// that the others wait in.
    #[must_use]
    pub const fn are_few(&self) -> bool {
        self.count.saturating_mul(2) <= self.of
    }
}

/// What the answers show together.
#[must_use]
pub fn rolls(statuses: &[(String, RasStatus)]) -> Vec<RasRoll> {
    let Some((_, last)) = statuses.last() else { return Vec::new() };
    let before = statuses.len().checked_sub(2).and_then(|at| statuses.get(at));
    let before = before.filter(|(_, status)| is_apart(status, last));
    let mut rolls = Vec::new();
    let named: BTreeSet<&RasProcess> = last
        .communicators
        .iter()
        .flat_map(|one| one.missing.iter().filter(|one| one.is_dead).map(|one| &one.process))
        .collect();
    let unnamed = last.dead.iter().filter(|dead| !named.iter().any(|one| one.pid == dead.pid));
    let unnamed: Vec<RasProcess> = unnamed.cloned().collect();
    if !unnamed.is_empty() {
        rolls.push(RasRoll { hash: None, outcome: RasOutcome::Silent(unnamed, true) });
    }
    for communicator in &last.communicators {
        let earlier = before.and_then(|(_, status)| {
            status.communicators.iter().find(|one| one.hash == communicator.hash)
        });
        rolls.extend(of_communicator(communicator, earlier));
    }
    rolls
}

/// Whether the later answer shows what has moved since the earlier one.
fn is_apart(earlier: &RasStatus, later: &RasStatus) -> bool {
    let time = |status: &RasStatus| status.taken.as_deref()?.parse::<DateTime>().ok();
    let times = time(earlier).zip(time(later));
    times.is_none_or(|(earlier, later)| later.duration_since(earlier).as_secs() >= APART_S)
}

fn of_communicator(one: &RasCommunicator, earlier: Option<&RasCommunicator>) -> Vec<RasRoll> {
    let roll = |outcome| RasRoll { hash: Some(one.hash), outcome };
    let mut rolls = Vec::new();
    for is_dead in [true, false] {
        let missing = one.missing.iter().filter(|missing| missing.is_dead == is_dead);
        let missing: Vec<RasProcess> = missing.map(|missing| missing.process.clone()).collect();
        if !missing.is_empty() {
            rolls.push(roll(RasOutcome::Silent(missing, is_dead)));
        }
    }
    let mut failed: BTreeMap<&str, Vec<RasProcess>> = BTreeMap::new();
    for (process, error) in &one.failed {
        failed.entry(error).or_default().push(process.clone());
    }
    for (error, ranks) in failed {
        rolls.push(roll(RasOutcome::Failed(ranks, error.to_owned())));
    }
    if let Some(unlike) = unlike(one) {
        rolls.push(roll(RasOutcome::Unlike(unlike)));
        return rolls;
    }
    let functions: BTreeSet<&str> = one.launched.iter().map(|one| one.function.as_str()).collect();
    rolls.extend(
        functions
            .into_iter()
            .filter_map(|kind| behind(one, earlier, kind))
            .map(RasOutcome::Behind)
            .map(roll),
    );
    rolls
}

/// Different ways through a program that are compared.
const WAYS: usize = 32;

/// The first two groups of ranks of which each has launched more of something than the other.
fn unlike(one: &RasCommunicator) -> Option<Unlike> {
    let mut by_rank: BTreeMap<&RasProcess, BTreeMap<&str, u64>> = BTreeMap::new();
    for launched in &one.launched {
        for process in &launched.named {
            by_rank.entry(process).or_default().insert(&launched.function, launched.count);
        }
    }
    let mut ways: BTreeMap<BTreeMap<&str, u64>, Vec<RasProcess>> = BTreeMap::new();
    for (process, counts) in by_rank {
        ways.entry(counts).or_default().push(process.clone());
    }
    let ways: Vec<_> = ways.into_iter().take(WAYS).collect();
    let pairs = ways
        .iter()
        .enumerate()
        .flat_map(|(at, one)| ways.iter().skip(at + 1).map(move |other| (one, other)));
    let mut found = pairs.filter_map(|(one, other)| {
        let ((few, few_ranks), (many, ranks)) =
            if one.1.len() <= other.1.len() { (one, other) } else { (other, one) };
        let more = few.iter().find(|(name, count)| many.get(*name).is_some_and(|it| it < count))?;
        let less = few.iter().find(|(name, count)| many.get(*name).is_some_and(|it| it > count))?;
        let of = |counts: &BTreeMap<&str, u64>| {
            [more.0, less.0].map(|name| counts.get(name).copied().unwrap_or(0))
        };
        Some(Unlike {
            functions: [more.0, less.0].map(|name| (*name).to_owned()),
            few: (few_ranks.clone(), of(few)),
            others: (ranks.clone(), of(many)),
        })
    });
    found.next()
}

/// The ranks with the fewest collectives of a kind.
fn behind(
    one: &RasCommunicator,
    earlier: Option<&RasCommunicator>,
    function: &str,
) -> Option<Behind> {
    let of_kind = |one: &RasCommunicator| -> BTreeMap<u64, u64> {
        let launched = one.launched.iter().filter(|one| one.function == function);
        let mut counts = BTreeMap::new();
        launched.for_each(|one| *counts.entry(one.count).or_default() += one.ranks);
        counts
    };
    let counts = of_kind(one);
    let (least, count) = counts.first_key_value()?;
    let (foremost, _) = counts.last_key_value()?;
    if least == foremost {
        return None;
    }
    let fewest = one.launched.iter().filter(|one| one.function == function && one.count == *least);
    let ranks: Vec<RasProcess> = fewest.flat_map(|one| one.named.iter().cloned()).collect();
    let of = counts.values().sum();
    let unnamed = match ranks.is_empty() && one.missing.is_empty() {
        true => all_but_named(one, function, *count, of),
        false => Vec::new(),
    };
    Some(Behind {
        ranks,
        unnamed,
        count: *count,
        of,
        function: function.to_owned(),
        launched: *least,
        foremost: *foremost,
        is_still: earlier.is_some_and(|earlier| of_kind(earlier) == counts),
    })
}

/// Most ranks of a communicator whose numbers are told from those of the others.
const RANKS: u64 = 1 << 20;

/// The ranks that RAS does not name, where all others are named and all have answered.
fn all_but_named(one: &RasCommunicator, function: &str, count: u64, of: u64) -> Vec<u32> {
    let launched = one.launched.iter().filter(|one| one.function == function);
    let named: BTreeSet<u32> =
        launched.flat_map(|one| &one.named).filter_map(|one| one.rank).collect();
    if of > RANKS || (named.len() as u64).saturating_add(count) != of {
        return Vec::new();
    }
    let all = 0..u32::try_from(of).unwrap_or(0);
    let rest: Vec<u32> = all.filter(|rank| !named.contains(rank)).collect();
    if rest.len() as u64 == count { rest } else { Vec::new() }
}
