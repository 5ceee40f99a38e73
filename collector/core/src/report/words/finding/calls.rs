//! Titles about what processes recorded of their own calls.

use super::super::name;
use super::super::number::{count, counted, duration};
use crate::analysis::finding::claim::calls::{CallsClaim, NamedCall};
use crate::decode::ras::RasProcess;

/// A longer wait, in nanoseconds, is that of a file which was copied long after.
const LONGEST_NS: u64 = 24 * 3600 * 1_000_000_000;

/// Processes that a title names.
const NAMED: usize = 4;

pub(super) fn title(claim: &CallsClaim) -> String {
    match claim {
        CallsClaim::NotCalled { ranks, call, waiting } => {
            format!("{} never called {}; {}", name::ranks(ranks), named(call), wait(waiting, call))
        }
        CallsClaim::Behind {
            communicator,
            ranks,
            count: all,
            function,
            launched,
            foremost,
            is_still,
        } => {
            let who = processes(ranks, *all);
            let what = if function.is_empty() { "collectives" } else { function };
            let still = match is_still {
                true => "no rank moved between two answers of RAS",
                false => "one answer of RAS does not show whether it still moves",
            };
            format!(
                "{who} launched {} {what} of communicator {communicator}, others {}; {still}",
                count(*launched),
                count(*foremost)
            )
        }
        CallsClaim::Disagree { call, variants } => {
            let variants =
                variants.iter().map(|(what, ranks)| format!("{what} on {}", name::ranks(ranks)));
            let variants: Vec<String> = variants.collect();
            format!(
                "ranks disagree: call {} of group {} is {}",
                call.number,
                call.group,
                variants.join(", and ")
            )
        }
        CallsClaim::Circle { call, waiting, awaited } => format!(
            "ranks wait for each other: {} in {}, {} in another group",
            name::ranks(waiting),
            named(call),
            name::ranks(awaited)
        ),
        CallsClaim::Silent { communicator, processes: silent, is_dead } => {
            let who = processes(silent, silent.len() as u64);
            let of = communicator.map_or_else(String::new, |one| format!(" of communicator {one}"));
            match is_dead {
                true => format!("RAS gave up {who}{of}: dead, or cut off"),
                false => format!("RAS has no answer of {who}{of}"),
            }
        }
        CallsClaim::NoDump { ranks, call, waiting } => {
            format!("no dump of {}; {} in {}", name::ranks(ranks), wait(waiting, call), named(call))
        }
        CallsClaim::Failed { communicator, ranks, error } => {
            let who = processes(ranks, ranks.len() as u64);
            format!("RAS: {error} on {who} of communicator {communicator}")
        }
        CallsClaim::Inside { call, waiting, is_begun } => {
            let begun = if *is_begun { ", begun on all GPUs" } else { "" };
            let time = waited(call);
            format!(
                "all of {} called {}{begun}, and it does not end{time}",
                name::ranks(waiting),
                named(call)
            )
        }
    }
}

/// `all_reduce 4 of group 0 (default_pg)`.
fn named(call: &NamedCall) -> String {
    format!("{} {} of group {}", call.name, call.number, call.group)
}

/// `3 ranks wait in it for 5.20 s`.
fn wait(waiting: &[u32], call: &NamedCall) -> String {
    let verb = if waiting.len() == 1 { "waits" } else { "wait" };
    format!("{} {verb}{}", counted(waiting.len() as u64, "rank"), waited(call))
}

fn waited(call: &NamedCall) -> String {
    let known = call.waited_ns.filter(|ns| *ns < LONGEST_NS);
    known.map_or_else(String::new, |ns| format!(" for {}", duration(ns)))
}

/// `rank 3 (process 4711 on 10.0.0.1) and 2 others`.
fn processes(named: &[RasProcess], all: u64) -> String {
    let shown: Vec<String> = named.iter().take(NAMED).map(process).collect();
    let more = all.saturating_sub(shown.len() as u64);
    match (shown.is_empty(), more) {
        (true, _) => counted(all, "rank"),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {}", shown.join(", "), counted(more, "other")),
    }
}

fn process(process: &RasProcess) -> String {
    let place = match (process.pid, &process.host) {
        (Some(pid), Some(host)) => Some(format!("process {pid} on {host}")),
        (None, Some(host)) => Some(format!("on {host}")),
        (Some(pid), None) => Some(format!("process {pid}")),
        (None, None) => None,
    };
    match (process.rank, place) {
        (Some(rank), Some(place)) => format!("rank {rank} ({place})"),
        (Some(rank), None) => format!("rank {rank}"),
        (None, place) => place.unwrap_or_else(|| "a process".to_owned()),
    }
}
