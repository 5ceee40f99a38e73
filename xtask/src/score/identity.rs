//! Identity: communicators, their ranks, and the connections between ranks.

use super::cell::{Cell, Column, Tally};
use super::matching::{Matching, is_same_hash};
use super::report::{Communicator, Rank};
use super::truth::{self, Node};

/// Columns about communicators.
pub(super) fn communicators(matching: &Matching<'_>) -> Vec<Column> {
    let Matching { truth, report, .. } = matching;
    let mut found = Tally { of: truth.communicators.len() as u64, ..Tally::default() };
    found.right = matching.communicators().count() as u64;
    found.wrong = report.communicators.len() as u64 - found.right;
    let [mut release, mut identity, mut sizes, mut roots, mut parents] = [Tally::default(); 5];
    for (at, known) in truth.communicators.iter().enumerate() {
        let said = matching.communicators().find(|(_, place)| *place == at).map(|(said, _)| said);
        let version = said.and_then(|said| said.nccl_version.as_deref());
        if truth.nccl_version.is_some() || version.is_some() {
            let is_right = |version| is_release(truth.nccl_version.as_deref(), version);
            release.count(version.map(is_right));
        }
        identity.count(said.and_then(|said| is_identity(known, said)));
        let nranks = said.and_then(|said| said.nranks);
        sizes.count(nranks.map(|nranks| nranks as usize == known.ranks.len()));
        let root = said.and_then(|said| said.root.as_ref());
        if known.root_address.is_some() || root.is_some() {
            roots.count(root.map(|root| known.root_address.as_ref() == Some(root)));
        }
        let parent = said.and_then(|said| said.parent.as_deref());
        if known.split_of.is_some() || parent.is_some() {
            let place = |parent| matching.communicator(parent);
            parents.count(
                parent.map(|parent| known.split_of.is_some() && place(parent) == known.split_of),
            );
        }
    }
    vec![
        ("NCCL", text(truth.nccl_version.as_deref())),
        ("found", text(found_releases(&report.communicators).as_deref())),
        ("release", release.into()),
        ("communicators", found.into()),
        ("hash or magic", identity.into()),
        ("size", sizes.into()),
        ("root", roots.into()),
        ("parent", parents.into()),
    ]
}

/// Columns about ranks and connections.
pub(super) fn ranks(matching: &Matching<'_>) -> Vec<Column> {
    let truth = matching.truth;
    let [mut addresses, mut pids, mut bus_ids, mut hosts] = [Tally::default(); 4];
    for (at, known) in truth.communicators.iter().enumerate() {
        let said = matching.communicators().find(|(_, place)| *place == at).map(|(said, _)| said);
        let mut count = |node: &Node, rank: Option<&Rank>| {
            addresses.count(rank.and_then(|r| r.address).map(|ip| ip == node.frontend.ip));
            pids.count(rank.and_then(|r| r.pid).map(|pid| pid == node.pid));
            let bus_id = rank.and_then(|r| r.bus_id.as_ref());
            bus_ids.count(bus_id.map(|bus_id| bus_id.eq_ignore_ascii_case(&node.gpu_bus_id)));
            hosts.count(rank.and_then(|r| r.host.as_ref()).map(|host| *host == node.hostname));
        };
        for &world_rank in &known.ranks {
            let Some(node) = truth.node(world_rank) else { continue };
            let is_it = |said: &Communicator, rank: &Rank| {
                matching.world_rank(&said.id, rank.rank) == Some(world_rank)
            };
            count(node, said.and_then(|said| said.ranks.iter().find(|rank| is_it(said, rank))));
        }
        // A rank that does not exist.
        let said =
            said.into_iter().flat_map(|said| said.ranks.iter().map(move |rank| (said, rank)));
        addresses.wrong += said
            .filter(|(said, rank)| matching.world_rank(&said.id, rank.rank).is_none())
            .count() as u64;
    }
    vec![
        ("address", addresses.into()),
        ("process", pids.into()),
        ("bus id", bus_ids.into()),
        ("host name", hosts.into()),
        ("connections", connections(matching).into()),
    ]
}

/// Connections whose sender, receiver and channel are right. The channel may be unknown: it is
/// scored by flow.
fn connections(matching: &Matching<'_>) -> Tally {
    let mut tally = Tally { of: matching.truth.connections().count() as u64, ..Tally::default() };
    for communicator in &matching.report.communicators {
        for connection in &communicator.connections {
            let (Some(sender), Some(receiver)) = (connection.sender, connection.receiver) else {
                continue;
            };
            let world_rank = |rank| matching.world_rank(&communicator.id, rank);
            let is_right = matching.connection(connection).is_some_and(|known| {
                world_rank(sender) == Some(known.sender)
                    && world_rank(receiver) == Some(known.receiver)
                    && connection.channel.is_none_or(|channel| channel == known.channel)
                    && matching.communicator(&communicator.id) == Some(known.comm)
            });
            if is_right {
                tally.right += 1;
            } else {
                tally.wrong += 1;
            }
        }
    }
    tally
}

/// A release without patch level is right if it is a prefix.
fn is_release(truth: Option<&str>, said: &str) -> bool {
    truth.is_some_and(|truth| {
        truth.strip_prefix(said).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// `None` if the report claims nothing.
fn is_identity(known: &truth::Communicator, said: &Communicator) -> Option<bool> {
    let is_same = |hash: &str| is_same_hash(hash, &said.id);
    match said.id_kind.as_str() {
        "comm_hash" => Some(known.comm_hash.as_deref().is_some_and(is_same)),
        "magic" => Some(is_same(&known.magic)),
        _ => None,
    }
}

fn found_releases(communicators: &[Communicator]) -> Option<String> {
    let mut releases: Vec<&str> =
        communicators.iter().filter_map(|c| c.nccl_version.as_deref()).collect();
    releases.sort_unstable();
    releases.dedup();
    (!releases.is_empty()).then(|| releases.join(", "))
}

fn text(text: Option<&str>) -> Cell {
    text.map_or(Cell::Empty, |text| Cell::Text(text.to_owned()))
}
