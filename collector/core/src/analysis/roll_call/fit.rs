//! Whether records are of the job that was captured: of its time, its size, its communicators.
//!
//! Packets come first, then dumps, then answers of RAS: what contradicts an earlier one is not used.

use std::collections::BTreeSet;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::{RankDump, RollCall, Unused, WhyUnused};
use crate::analysis::state::State;
use crate::decode::flight_recorder::Dump;
use crate::decode::ras::RasStatus;
use crate::link::job::{Communicator, Identity, Job};
use crate::model::time::{Span, Timestamp};

const HOUR_NS: u64 = 3_600_000_000_000;

/// Longest time between the calls of a job and data of it.
const APART_NS: u64 = HOUR_NS;

/// The same where no data was seen: the job may have hung for long when the capture began.
const APART_WITHOUT_DATA_NS: u64 = 24 * HOUR_NS;

/// RAS states the local time, without a zone.
const ZONES_NS: u64 = 14 * HOUR_NS;

/// PyTorch's description of the group of all ranks.
const WORLD: &str = "default_pg";

/// Why a record does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// So long before or after the others, in nanoseconds.
    Apart {
        /// Between the nearest times.
        gap_ns: u64,
        /// It is the earlier one.
        is_earlier: bool,
        /// What it is compared with.
        with: Reference,
    },
    /// Its groups or communicators have other sizes.
    Size {
        /// Its own, ascending.
        own: Vec<u64>,
        /// Those of the reference, ascending.
        others: Vec<u64>,
        /// What it is compared with.
        with: Reference,
    },
    /// It names other communicators than packets and logs.
    Communicators,
    /// It names other hosts.
    Hosts,
}

/// What a record is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Captures.
    Packets,
    /// Most of the other dumps.
    Dumps,
}

/// What was captured, as far as records can be compared with it.
struct Seen<'a> {
    /// From the first frame of all taps to the last.
    span: Option<Span>,
    /// Data of a communicator was seen.
    has_data: bool,
    communicators: &'a [Communicator],
}

/// Drops the records that do not fit what else was given.
pub fn drop_misfits(state: &mut State) {
    if state.roll_call.is_empty() {
        return;
    }
    let mut records = std::mem::take(&mut state.roll_call);
    let seen = Seen::new(state);
    records.drop_dumps_apart();
    records.drop_dumps_of_another_size();
    let of_dumps = dumps_misfit(&records.dumps, &seen);
    if let Some(misfit) = of_dumps {
        records.drop_dumps(|_| Some(misfit.clone()));
    }
    let dumped = sizes(records.dumps.iter().map(|one| &one.dump));
    let called = calls_of(&records.dumps);
    records.drop_statuses(|status| {
        let of_packets = status_misfit(status, &seen);
        of_packets.or_else(|| {
            let apart = called.and_then(|called| {
                apart(taken(status)?, called, ZONES_NS + APART_WITHOUT_DATA_NS, Reference::Dumps)
            });
            apart.or_else(|| other_size(&status_sizes(status), &dumped, Reference::Dumps))
        })
    });
    state.roll_call = records;
}

impl<'a> Seen<'a> {
    fn new(state: &'a State) -> Self {
        let taps = state.tracker.taps().iter().filter_map(|tap| tap.span);
        let span = taps.reduce(|one, other| Span {
            first: one.first.min(other.first),
            last: one.last.max(other.last),
        });
        let job: Option<&'a Job> = state.job.as_ref();
        Self {
            span,
            has_data: job
                .is_some_and(|job| job.connections.iter().any(|one| !one.transfers.is_empty())),
            communicators: job.map(|job| job.communicators.as_slice()).unwrap_or_default(),
        }
    }

    const fn patience_ns(&self) -> u64 {
        if self.has_data { APART_NS } else { APART_WITHOUT_DATA_NS }
    }

    /// Sizes of the communicators, if all of them are known for certain.
    fn sizes(&self) -> BTreeSet<u64> {
        let is_certain = |one: &Communicator| !matches!(one.identity, Identity::Inferred(_));
        let sizes: Option<BTreeSet<u64>> = self
            .communicators
            .iter()
            .map(|one| one.nranks.filter(|_| is_certain(one)).map(u64::from))
            .collect();
        sizes.unwrap_or_default()
    }

    /// Ranks of the smallest communicator, as far as they are known.
    fn fewest_ranks(&self) -> Option<u64> {
        self.communicators.iter().map(|one| one.ranks.len() as u64).min()
    }
}

impl RollCall {
    fn drop_dumps(&mut self, misfit: impl Fn(&RankDump) -> Option<Misfit>) {
        let Self { dumps, unused, .. } = self;
        dumps.retain(|one| {
            let Some(misfit) = misfit(one) else { return true };
            let why = WhyUnused::Misfit(misfit);
            let (file, rank) = (one.file.clone(), Some(one.rank));
            unused.push(Unused { file, source: "flight_recorder", rank, why });
            false
        });
    }

    fn drop_statuses(&mut self, misfit: impl Fn(&RasStatus) -> Option<Misfit>) {
        let Self { statuses, unused, .. } = self;
        statuses.retain(|(file, status)| {
            let Some(misfit) = misfit(status) else { return true };
            let why = WhyUnused::Misfit(misfit);
            unused.push(Unused { file: file.clone(), source: "ras", rank: None, why });
            false
        });
    }

    /// Dumps of other runs: files that an earlier job left there.
    fn drop_dumps_apart(&mut self) {
        let mut spans: Vec<Span> = self.dumps.iter().filter_map(|one| calls(&one.dump)).collect();
        spans.sort_by_key(|span| span.first);
        // Runs, each with the number of its dumps.
        let mut runs: Vec<(Span, usize)> = Vec::new();
        for span in spans {
            match runs.last_mut() {
                Some((run, count)) if gap_ns(*run, span) <= APART_NS => {
                    run.last = run.last.max(span.last);
                    *count += 1;
                }
                _ => runs.push((span, 1)),
            }
        }
        let Some((most, _)) = runs.into_iter().max_by_key(|(run, count)| (*count, run.last)) else {
            return;
        };
        self.drop_dumps(|one| apart(calls(&one.dump)?, most, APART_NS, Reference::Dumps));
    }

    /// Dumps whose group of all ranks has another size than most others'.
    fn drop_dumps_of_another_size(&mut self) {
        let worlds: Vec<u64> = self.dumps.iter().filter_map(|one| world(&one.dump)).collect();
        let count = |size: u64| worlds.iter().filter(|one| **one == size).count();
        let Some(most) = worlds.iter().copied().max_by_key(|size| (count(*size), *size)) else {
            return;
        };
        self.drop_dumps(|one| {
            let own = world(&one.dump).filter(|own| *own != most)?;
            Some(Misfit::Size { own: vec![own], others: vec![most], with: Reference::Dumps })
        });
    }
}

fn dumps_misfit(dumps: &[RankDump], seen: &Seen<'_>) -> Option<Misfit> {
    let in_time = || apart(calls_of(dumps)?, seen.span?, seen.patience_ns(), Reference::Packets);
    let own = sizes(dumps.iter().map(|one| &one.dump));
    let in_size = || other_size(&own, &seen.sizes(), Reference::Packets);
    // Not even the smallest communicator fits into the job.
    let too_large = || {
        let world = dumps.iter().filter_map(|one| world(&one.dump)).max()?;
        let fewest = seen.fewest_ranks().filter(|fewest| *fewest > world)?;
        let (own, others) = (vec![world], vec![fewest]);
        Some(Misfit::Size { own, others, with: Reference::Packets })
    };
    in_time().or_else(in_size).or_else(too_large)
}

fn status_misfit(status: &RasStatus, seen: &Seen<'_>) -> Option<Misfit> {
    let patience_ns = seen.patience_ns() + ZONES_NS;
    if let Some(misfit) = taken(status)
        .zip(seen.span)
        .and_then(|(taken, span)| apart(taken, span, patience_ns, Reference::Packets))
    {
        return Some(misfit);
    }
    // Text lists communicators with trouble only.
    if status.taken.is_none() || status.communicators.is_empty() || seen.communicators.is_empty() {
        return None;
    }
    let hash = |one: &Communicator| match one.identity {
        Identity::CommHash(hash) => Some(hash),
        _ => None,
    };
    let hashes: Option<BTreeSet<u64>> = seen.communicators.iter().map(hash).collect();
    match hashes {
        Some(hashes) => {
            let is_known = status.communicators.iter().any(|one| hashes.contains(&one.hash));
            (!is_known).then_some(Misfit::Communicators)
        }
        None => other_size(&status_sizes(status), &seen.sizes(), Reference::Packets)
            .or_else(|| other_hosts(status, seen)),
    }
}

/// The hosts of RAS are addresses of the bootstrap.
fn other_hosts(status: &RasStatus, seen: &Seen<'_>) -> Option<Misfit> {
    let all = seen.communicators.iter().flat_map(|one| &one.ranks);
    let known: Option<BTreeSet<String>> =
        all.map(|rank| rank.address.map(|address| address.to_string())).collect();
    let known = known.filter(|known| !known.is_empty())?;
    let processes = status.communicators.iter().flat_map(|one| {
        let launched = one.launched.iter().flat_map(|launched| &launched.named);
        launched.chain(one.missing.iter().map(|missing| &missing.process))
    });
    let hosts: BTreeSet<&String> = processes.filter_map(|one| one.host.as_ref()).collect();
    let is_one = hosts.iter().any(|host| known.contains(*host));
    (!hosts.is_empty() && !is_one).then_some(Misfit::Hosts)
}

/// `own` is further from `reference` than `patience_ns`.
fn apart(own: Span, reference: Span, patience_ns: u64, with: Reference) -> Option<Misfit> {
    let gap_ns = gap_ns(own, reference);
    let is_earlier = own.last < reference.first;
    (gap_ns > patience_ns).then_some(Misfit::Apart { gap_ns, is_earlier, with })
}

/// Time between two spans, 0 if they overlap.
const fn gap_ns(one: Span, other: Span) -> u64 {
    // A difference that is negative counts as 0.
    let (before, after) = (one.first.nanos_since(other.last), other.first.nanos_since(one.last));
    if before > after { before } else { after }
}

fn other_size(own: &BTreeSet<u64>, others: &BTreeSet<u64>, with: Reference) -> Option<Misfit> {
    let is_other = !own.is_empty() && !others.is_empty() && own.is_disjoint(others);
    let list = |sizes: &BTreeSet<u64>| sizes.iter().copied().collect();
    is_other.then(|| Misfit::Size { own: list(own), others: list(others), with })
}

/// From the first call in a dump to the last.
fn calls(dump: &Dump) -> Option<Span> {
    let times = || dump.calls.iter().map(|call| Timestamp::from_nanos(call.created_ns));
    Some(Span { first: times().min()?, last: times().max()? })
}

fn calls_of(dumps: &[RankDump]) -> Option<Span> {
    let spans = dumps.iter().filter_map(|one| calls(&one.dump));
    spans.reduce(|one, other| Span {
        first: one.first.min(other.first),
        last: one.last.max(other.last),
    })
}

/// Ranks of the group of all ranks, if the dump lists them.
fn world(dump: &Dump) -> Option<u64> {
    let world = dump.groups.values().find(|group| group.about == WORLD);
    world.map(|world| world.ranks.len() as u64).filter(|ranks| *ranks > 0)
}

/// Sizes of all groups whose ranks are listed.
fn sizes<'a>(dumps: impl Iterator<Item = &'a Dump>) -> BTreeSet<u64> {
    let sizes = dumps.flat_map(|dump| dump.groups.values().map(|group| group.ranks.len() as u64));
    sizes.filter(|size| *size > 0).collect()
}

fn status_sizes(status: &RasStatus) -> BTreeSet<u64> {
    status.communicators.iter().filter_map(|one| one.size.map(u64::from)).collect()
}

fn taken(status: &RasStatus) -> Option<Span> {
    let taken: DateTime = status.taken.as_deref()?.parse().ok()?;
    let nanos = TimeZone::UTC.to_timestamp(taken).ok()?.as_nanosecond();
    let taken = Timestamp::from_nanos(nanos.try_into().ok()?);
    Some(Span { first: taken, last: taken })
}
