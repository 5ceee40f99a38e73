//! Titles about rendezvous, bootstrap and initialisation.

use super::super::name;
use super::super::number::{counted, duration};
use super::among::among;
use crate::analysis::bootstrap::MissingRanks;
use crate::analysis::finding::claim::setup::{RankOnHost, SetupClaim};

pub(super) fn title(claim: &SetupClaim) -> String {
    match claim {
        SetupClaim::MasterUnreachable { server, clients, syns, is_refused } => {
            let clients = among(clients, ToString::to_string, "hosts");
            let outcome = if *is_refused { "refused, nothing listens there" } else { "unanswered" };
            let syns = counted(*syns, "SYN");
            format!("master {server} unreachable from {clients}: {syns} {outcome}")
        }
        SetupClaim::RanksMissing { communicator, missing, nranks } => format!(
            "bootstrap of {} is waiting: {} of {nranks} did not check in",
            name::known_communicator(*communicator),
            missing_ranks(missing)
        ),
        SetupClaim::WaitAtStore { store, key, waiting, silence_ns } => {
            let waiting = among(waiting, ToString::to_string, "hosts");
            let silence = duration(*silence_ns);
            format!(
                "bootstrap incomplete: {waiting} waited {silence} at the store {store} for `{key}`"
            )
        }
        SetupClaim::InitIncomplete { communicator, begun, silent } => {
            let silent = match silent.is_empty() {
                true => String::new(),
                false => format!("; {} logged nothing about it", missing_ranks(silent)),
            };
            format!(
                "initialisation of {} did not complete on {}{silent}",
                name::known_communicator(*communicator),
                name::ranks(begun)
            )
        }
        SetupClaim::SlowBootstrap { communicator, took_ns, last } => {
            let last = last.as_ref();
            let last = last.map_or_else(String::new, |last| {
                format!("; {} checked in last", rank_on_host(last))
            });
            let communicator = name::known_communicator(*communicator);
            format!("bootstrap of {communicator} took {}{last}", duration(*took_ns))
        }
        SetupClaim::SlowInit { communicator, slowest, took_ns, is_kept_waiting, last } => {
            let last = last.as_ref();
            let last =
                last.map_or_else(String::new, |last| format!("; {} came last", rank_on_host(last)));
            format!(
                "bootstrap of {} took {} for {}{}{last}",
                name::known_communicator(*communicator),
                duration(*took_ns),
                rank_on_host(slowest),
                if *is_kept_waiting { ": it waited for another rank" } else { "" }
            )
        }
    }
}

fn rank_on_host(RankOnHost { rank, host }: &RankOnHost) -> String {
    match host {
        Some(host) => format!("rank {rank} on {host}"),
        None => format!("rank {rank}"),
    }
}

fn missing_ranks(missing: &MissingRanks) -> String {
    name::some_ranks(&missing.first, missing.count)
}
