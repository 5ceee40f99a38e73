//! What dumps of the flight recorder show together.

use std::collections::{BTreeMap, BTreeSet};

use super::RankDump;
use crate::decode::flight_recorder::{Call, Progress};
use crate::model::time::Timestamp;

/// PyTorch's name of the group of all ranks.
const WORLD: &str = "default_pg";

/// Ranks of the largest job: a higher number in a dump is none.
const LARGEST_WORLD: u32 = 1 << 20;

/// Calls whose tensors have the same size on all ranks.
const ALIKE: [&str; 6] =
    ["all_reduce", "allreduce", "broadcast", "reduce", "all_gather_base", "reduce_scatter_base"];

/// What the dumps show of one process group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roll {
    /// PyTorch's name of it.
    pub group: String,
    /// What it is for: `default_pg`, `tp`; may be empty.
    pub about: String,
    /// The call that some ranks wait in.
    pub number: u64,
    /// What was called: `all_reduce`.
    pub call: String,
    /// The ranks that wait in it.
    pub waiting: Vec<u32>,
    /// The ranks that called it, whether it has ended or not.
    pub callers: Vec<u32>,
    /// The longest wait until the dumps were written, in nanoseconds.
    pub waited_ns: Option<u64>,
    /// Why they wait.
    pub outcome: Outcome,
    /// Of how many ranks of the group dumps were read.
    pub turnout: Turnout,
    /// Where they called it, if all that say so agree.
    pub line: Option<String>,
}

/// Ranks of a group whose dumps were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turnout {
    /// How many.
    pub read: u64,
    /// Of so many; `None` if no dump lists the ranks of the group.
    pub of: Option<u64>,
}

impl Turnout {
    /// Whether no rank can have called anything else.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.of == Some(self.read)
    }
}

/// Why ranks wait in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// These ranks have not called, and wait in no other call.
    NotCalled(Vec<u32>),
    /// Ranks called different things: what, and who; the commonest first.
    Disagree(Vec<(Variant, Vec<u32>)>),
    /// There is no dump of these ranks, which are no more than the others; all others have called.
    NoDump(Vec<u32>),
    /// Each of the missing ranks waits in a call of another group, for ranks that wait here.
    Circle(Vec<u32>),
    /// All whose dumps were read have called. `true`: on all GPUs it has begun.
    Inside(bool),
}

/// What ranks called under one number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variant {
    /// `all_reduce`.
    pub name: String,
    /// Its tensors, where they differ and must not: `[1024] Float`.
    pub tensors: Option<String>,
}

/// The dumps of one process group.
struct GroupCalls<'a> {
    name: &'a str,
    about: &'a str,
    members: BTreeSet<u32>,
    /// A dump lists its ranks.
    is_listed: bool,
    /// Of ranks with a dump: their calls, by number.
    calls: BTreeMap<u32, BTreeMap<u64, &'a Call>>,
}

/// What the dumps show, one entry for each group in which ranks wait. What follows from another group's
/// is left out. Of ranks in `unread` there is a dump that could not be read: they may have called or not.
#[must_use]
pub fn rolls(dumps: &[RankDump], unread: &BTreeSet<u32>) -> Vec<Roll> {
    let groups = groups(dumps, unread);
    // Ranks that wait in some call.
    let is_open = |call: &&&Call| call.progress != Progress::Ended;
    let waiting: BTreeSet<u32> = groups
        .iter()
        .flat_map(|group| &group.calls)
        .filter(|(_, calls)| calls.values().any(|call| is_open(&call)))
        .map(|(rank, _)| *rank)
        .collect();
    let roll = |group: &GroupCalls<'_>| group.roll(dumps, unread, &waiting);
    let all: Vec<Roll> = groups.iter().filter_map(roll).collect();
    let is_cause = |roll: &&Roll| !matches!(roll.outcome, Outcome::Circle(_) | Outcome::Inside(_));
    let causes: Vec<Roll> = all.iter().filter(is_cause).cloned().collect();
    if causes.is_empty() { all } else { causes }
}

fn groups<'a>(dumps: &'a [RankDump], unread: &BTreeSet<u32>) -> Vec<GroupCalls<'a>> {
    let mut groups: BTreeMap<&str, GroupCalls<'_>> = BTreeMap::new();
    for RankDump { rank, dump, .. } in dumps {
        for call in dump.calls.iter().filter(|call| !call.is_p2p) {
            let config = dump.groups.get(&call.group);
            let group = groups.entry(&call.group).or_insert_with(|| GroupCalls {
                name: &call.group,
                about: "",
                members: BTreeSet::new(),
                is_listed: false,
                calls: BTreeMap::new(),
            });
            group.about = if group.about.is_empty() { &call.about } else { group.about };
            let calls = group.calls.entry(*rank).or_default();
            // Once a rank, not once a call: the list of a large group is long.
            if calls.is_empty() {
                group.members.insert(*rank);
                group.members.extend(config.into_iter().flat_map(|config| &config.ranks));
                group.is_listed |= config.is_some_and(|config| !config.ranks.is_empty());
            }
            calls.insert(call.number, call);
        }
    }
    for group in groups.values_mut() {
        if group.about == WORLD {
            // gloo does not list its ranks.
            let last = group.members.iter().chain(unread).max().copied();
            let last = last.filter(|last| *last < LARGEST_WORLD);
            group.members.extend(last.into_iter().flat_map(|last| 0..=last));
        }
        for RankDump { rank, .. } in dumps {
            if group.members.contains(rank) {
                group.calls.entry(*rank).or_default();
            }
        }
    }
    groups.into_values().collect()
}

/// The last call of a rank in a group.
pub struct LastCall<'a> {
    /// The dump's file.
    pub file: &'a str,
    /// The rank.
    pub rank: u32,
    /// What it called; `None` if it has called nothing.
    pub name: Option<&'a str>,
    /// The call's number, 0 for none.
    pub number: u64,
    /// How far it has come.
    pub progress: Option<Progress>,
}

impl Roll {
    /// The call that ranks wait in, or else the last one, of every rank with a dump that it concerns.
    #[must_use]
    pub fn last_calls<'a>(&self, dumps: &'a [RankDump]) -> Vec<LastCall<'a>> {
        let missing = match &self.outcome {
            Outcome::NotCalled(ranks) | Outcome::Circle(ranks) => ranks.as_slice(),
            _ => &[],
        };
        let concerned =
            |one: &&RankDump| self.callers.contains(&one.rank) || missing.contains(&one.rank);
        let last = |one: &'a RankDump| {
            let calls =
                one.dump.calls.iter().filter(|call| !call.is_p2p && call.group == self.group);
            let call =
                calls.filter(|call| call.number <= self.number).max_by_key(|call| call.number);
            LastCall {
                file: &one.file,
                rank: one.rank,
                name: call.map(|call| call.name.as_str()),
                number: call.map_or(0, |call| call.number),
                progress: call.map(|call| call.progress),
            }
        };
        dumps.iter().filter(concerned).map(last).collect()
    }
}

impl GroupCalls<'_> {
    fn roll(
        &self,
        dumps: &[RankDump],
        unread: &BTreeSet<u32>,
        waiting_anywhere: &BTreeSet<u32>,
    ) -> Option<Roll> {
        let open = |call: &Call| call.progress != Progress::Ended;
        // The earliest call in which somebody waits.
        let numbers = self.calls.values().flat_map(|calls| calls.values());
        let number = numbers.filter(|call| open(call)).map(|call| call.number).min()?;
        let have: BTreeMap<u32, &Call> = self
            .calls
            .iter()
            .filter_map(|(rank, calls)| Some((*rank, *calls.get(&number)?)))
            .collect();
        let waiting: Vec<u32> =
            have.iter().filter(|(_, call)| open(call)).map(|(rank, _)| *rank).collect();
        let first = have.get(waiting.first()?)?;
        // A dump holds the latest calls of all groups together: what is in none of them may have been
        // overwritten, unless they reach back beyond the call.
        let reaches_back = |rank: u32| {
            let mut own = dumps.iter().filter(|one| one.rank == rank).map(|one| &one.dump);
            own.any(|dump| {
                let oldest = dump.calls.first().map_or(u64::MAX, |call| call.created_ns);
                dump.is_whole || oldest < first.created_ns
            })
        };
        let is_behind = |(rank, calls): &(&u32, &BTreeMap<u64, &Call>)| {
            let last = calls.last_key_value();
            last.map_or_else(|| reaches_back(**rank), |(last, _)| *last < number)
        };
        let behind = self.calls.iter().filter(is_behind).map(|(rank, _)| *rank);
        let behind: Vec<u32> = behind.collect();
        let is_missing = |rank: &u32| !self.calls.contains_key(rank) && !unread.contains(rank);
        let missing: Vec<u32> = self.members.iter().copied().filter(is_missing).collect();
        // Where most are missing, nobody has collected them.
        let is_collected = missing.len() <= self.calls.len();
        let variants = variants(&have);
        let culprits: Vec<u32> =
            behind.iter().copied().filter(|rank| !waiting_anywhere.contains(rank)).collect();
        let outcome = if variants.len() > 1 {
            Outcome::Disagree(variants)
        } else if !culprits.is_empty() {
            Outcome::NotCalled(culprits)
        } else if !behind.is_empty() {
            Outcome::Circle(behind)
        } else if !missing.is_empty() && is_collected {
            Outcome::NoDump(missing)
        } else {
            let is_begun = |call: &&Call| call.progress == Progress::Started;
            Outcome::Inside(have.values().all(is_begun))
        };
        let created = have.values().filter(|call| open(call)).map(|call| call.created_ns).min();
        let written = dumps.iter().filter_map(|one| one.written).map(Timestamp::as_nanos).max();
        let lines: BTreeSet<&String> =
            have.values().filter_map(|call| call.line.as_ref()).collect();
        Some(Roll {
            group: self.name.to_owned(),
            about: self.about.to_owned(),
            number,
            call: first.name.clone(),
            waiting,
            callers: have.keys().copied().collect(),
            waited_ns: written.zip(created).map(|(at, since)| at.saturating_sub(since)),
            outcome,
            turnout: Turnout {
                read: self.calls.len() as u64,
                of: self.is_listed.then_some(self.members.len() as u64),
            },
            line: lines.first().filter(|_| lines.len() == 1).map(|line| (*line).clone()),
        })
    }
}

/// The different things that ranks called under one number, the commonest first.
fn variants(have: &BTreeMap<u32, &Call>) -> Vec<(Variant, Vec<u32>)> {
    let names: BTreeSet<&str> = have.values().map(|call| call.name.as_str()).collect();
    let is_alike = names.len() == 1 && names.iter().all(|name| ALIKE.contains(name));
    let mut variants: BTreeMap<Variant, Vec<u32>> = BTreeMap::new();
    for (rank, call) in have {
        let tensors = is_alike.then(|| call.input.clone());
        let variant = Variant { name: call.name.clone(), tensors };
        variants.entry(variant).or_default().push(*rank);
    }
    let mut variants: Vec<(Variant, Vec<u32>)> = variants.into_iter().collect();
    variants.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
    variants
}
