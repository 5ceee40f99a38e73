//! Whether the process of one rank runs, and whether it has called what others wait in, by all records
//! together.

use super::flight::{Outcome, Roll};
use super::ras::{RasOutcome, RasRoll};
use super::{RankDump, RollCall, Rolls};
use crate::decode::ras::{RasCommunicator, RasProcess};
use crate::link::job::{Communicator, Identity, Rank};

/// What records say of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Whether its process runs.
    pub life: Life,
    /// Whether it has called what others wait in; `None` if that is not known.
    pub has_called: Option<bool>,
    /// Another process of its host wrote a dump, or answered RAS: the host lives.
    pub has_neighbour: bool,
    /// It wrote no dump, though others did.
    pub misses_dump: bool,
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Life {
    /// It wrote a dump, or answered RAS.
    Runs,
    /// It did neither, though others did.
    Silent,
    /// Records do not show it, or contradict each other.
    #[default]
    Unknown,
}

/// A rank that packets name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its communicator.
    pub communicator: &'a Communicator,
    /// Its number in it.
    pub rank: u32,
    /// Its ports, as text: RAS names hosts so.
    pub ports: &'a [String],
}

impl Named<'_> {
    /// Whether its number is the job's: traffic alone does not show how the job numbers its ranks.
    const fn is_numbered(&self) -> bool {
        !matches!(self.communicator.identity, Identity::Inferred(_))
    }
}

impl RollCall {
    /// What the records say of a rank.
    #[must_use]
    pub fn presence(&self, rolls: &Rolls, named: Named<'_>) -> Presence {
        let by_dump = by_dump(&self.dumps, &rolls.flight, named);
        let last = self.statuses.last().map(|(_, status)| status.communicators.as_slice());
        let own = last.and_then(|all| of_communicator(all, named.communicator));
        let by_ras = own.map(|own| by_ras(own, &rolls.ras, named)).unwrap_or_default();
        Presence {
            life: match (by_dump.life, by_ras.life) {
                (one, Life::Unknown) => one,
                (Life::Unknown, other) => other,
                // It has run, and is given up since.
                (Life::Runs, Life::Silent) => Life::Unknown,
                (_, by_ras) => by_ras,
            },
            has_called: by_dump.has_called.or(by_ras.has_called),
            has_neighbour: by_dump.has_neighbour || by_ras.has_neighbour,
            misses_dump: by_dump.misses_dump,
        }
    }
}

/// The numbers of the other ranks on its host.
fn neighbours(named: Named<'_>) -> Vec<u32> {
    let ranks = || named.communicator.ranks.iter();
    let own = ranks().find(|one| one.rank == named.rank).and_then(Rank::place);
    let Some(own) = own.filter(|_| named.is_numbered()) else { return Vec::new() };
    let there = ranks().filter(|one| one.rank != named.rank);
    there.filter(|one| one.place().as_ref() == Some(&own)).map(|one| one.rank).collect()
}

/// Ranks of the largest group in the dumps: all of the job. 0 without groups.
pub(in crate::analysis) fn largest_group(dumps: &[RankDump]) -> usize {
    let groups = dumps.iter().flat_map(|one| one.dump.groups.values());
    groups.map(|group| group.ranks.len()).max().unwrap_or(0)
}

/// By dumps, if they are of its communicator: they number the ranks of the job.
fn by_dump(dumps: &[RankDump], rolls: &[Roll], named: Named<'_>) -> Presence {
    let world = largest_group(dumps);
    if world == 0 || named.communicator.ranks.len() != world {
        return Presence::default();
    }
    let missing = rolls.iter().find_map(|roll| match &roll.outcome {
        Outcome::NoDump(ranks) => Some(ranks.as_slice()),
        _ => None,
    });
    let (runs, is_silent) = match named.is_numbered() {
        true => (
            dumps.iter().any(|dump| dump.rank == named.rank),
            missing.is_some_and(|missing| missing.contains(&named.rank)),
        ),
        false => (dumps.len() == world, missing.is_some_and(|missing| missing.len() == 1)),
    };
    let are_inside =
        rolls.iter().all(|roll| matches!(roll.outcome, Outcome::Inside(_) | Outcome::NoDump(_)));
    let neighbours = neighbours(named);
    Presence {
        life: match (runs, is_silent) {
            (true, _) => Life::Runs,
            (false, true) => Life::Silent,
            (false, false) => Life::Unknown,
        },
        has_called: (runs && !rolls.is_empty() && are_inside).then_some(true),
        has_neighbour: dumps.iter().any(|dump| neighbours.contains(&dump.rank)),
        misses_dump: !runs && is_silent,
    }
}

/// What RAS says of this communicator: by its hash, or the only one of its size.
fn of_communicator<'a>(
    all: &'a [RasCommunicator],
    communicator: &Communicator,
) -> Option<&'a RasCommunicator> {
    if let Identity::CommHash(hash) = communicator.identity {
        return all.iter().find(|one| one.hash == hash);
    }
    let ranks = communicator.ranks.len() as u32;
    let mut of_size = all.iter().filter(|one| one.size == Some(ranks));
    of_size.next().filter(|_| of_size.next().is_none())
}

fn by_ras(own: &RasCommunicator, rolls: &[RasRoll], named: Named<'_>) -> Presence {
    let missing = || own.missing.iter().map(|one| &one.process);
    let answering = || own.launched.iter().flat_map(|one| &one.named);
    let behind = rolls.iter().find_map(|roll| match &roll.outcome {
        RasOutcome::Behind(behind) if roll.hash == Some(own.hash) && behind.is_still => {
            Some(behind)
        }
        _ => None,
    });
    let are_equal = !rolls
        .iter()
        .any(|roll| roll.hash == Some(own.hash) && matches!(roll.outcome, RasOutcome::Behind(_)));
    let is_it = |process: &RasProcess| match named.is_numbered() {
        true => process.rank == Some(named.rank),
        false => process.host.as_ref().is_some_and(|host| named.ports.contains(host)),
    };
    let is_known = missing().chain(answering()).any(is_it);
    let has_called = |is_behind: bool| match behind {
        Some(_) if is_behind => Some(false),
        None if are_equal => Some(true),
        _ => None,
    };
    if !named.is_numbered() && !is_known {
        // Packets name one rank: if one alone is silent, or behind, it is that one.
        return Presence {
            life: match own.missing.len() {
                0 => Life::Runs,
                1 => Life::Silent,
                _ => Life::Unknown,
            },
            has_called: has_called(behind.is_some_and(|behind| behind.count == 1)),
            has_neighbour: false,
            misses_dump: false,
        };
    }
    let runs = answering().any(is_it);
    let neighbours = neighbours(named);
    Presence {
        life: match (runs, missing().any(is_it)) {
            (true, false) => Life::Runs,
            (false, true) => Life::Silent,
            _ => Life::Unknown,
        },
        has_called: has_called(behind.is_some_and(|behind| behind.ranks.iter().any(is_it)))
            .filter(|_| runs),
        has_neighbour: answering()
            .any(|process| process.rank.is_some_and(|rank| neighbours.contains(&rank))),
        misses_dump: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::flight_recorder::{Dump, Group};
    use crate::link::job::Transport;
    use crate::model::grade::Grade;

    /// Four ranks on two hosts.
    fn communicator(identity: Identity) -> Communicator {
        let rank = |rank: u32| {
            let host = if rank < 2 { "n0" } else { "n1" };
            Rank { host: Some(host.to_owned()), ..Rank::new(rank) }
        };
        Communicator {
            identity,
            log_hash: None,
            nranks: Some(4),
            release: None,
            releases: None,
            root: None,
            parent: None,
            ranks: (0..4).map(rank).collect(),
            channels: Vec::new(),
            transport: Transport::Ib,
            bootstrap: None,
            evidence: Vec::new(),
            grade: Grade::Proven,
        }
    }

    /// Whether dumps of these ranks show that the host of rank 2 lives.
    fn has_neighbour(identity: Identity, ranks: &[u32]) -> bool {
        let group = Group { ranks: (0..4).collect(), ..Group::default() };
        let dump = |rank: &u32| RankDump {
            file: "trace".to_owned(),
            rank: *rank,
            written: None,
            dump: Dump { groups: [("0".to_owned(), group.clone())].into(), ..Dump::default() },
        };
        let dumps = ranks.iter().map(dump).collect();
        let calls = RollCall { dumps, ..RollCall::default() };
        let communicator = communicator(identity);
        let named = Named { communicator: &communicator, rank: 2, ports: &[] };
        calls.presence(&Rolls::default(), named).has_neighbour
    }

    #[test]
    fn a_host_lives_if_another_rank_of_it_wrote_a_dump() {
        let known = Identity::CommHash(7);
        assert!(has_neighbour(known, &[0, 1, 3]));
        assert!(!has_neighbour(known, &[0, 1]), "all its ranks are silent");
        assert!(!has_neighbour(Identity::Inferred(0), &[0, 1, 3]), "whose numbers are ours");
    }
}
