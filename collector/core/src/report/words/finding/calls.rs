//! Titles about what processes recorded of their own calls.

use super::super::name;
use super::super::number::{count, counted};
use crate::analysis::finding::claim::calls::{CallsClaim, NamedCall};
use crate::analysis::roll_call::flight::{Turnout, Variant};
use crate::decode::ras::RasProcess;

/// Processes that a title names.
const NAMED: usize = 4;

pub(super) fn title(claim: &CallsClaim) -> String {
    match claim {
        CallsClaim::NotCalled { ranks, call, waiting } => {
            format!(
                "{} never called {}; {}{}",
                name::ranks(ranks),
                named(call),
                wait(waiting),
                turnout(call.turnout)
            )
        }
        CallsClaim::Behind { communicator, behind } => {
            let who = match behind.unnamed.as_slice() {
                [] => processes(&behind.ranks, behind.count),
                ranks => rank_ranges(ranks),
            };
            let function = behind.function.as_str();
            let what = if function.is_empty() { "collectives" } else { function };
            let still = match behind.is_still {
                true => "no rank moved between two answers of RAS",
                false => "one answer of RAS does not show whether it still moves",
            };
            format!(
                "{who} launched {} {what} of communicator {communicator}, others {}; {still}",
                count(behind.launched),
                count(behind.foremost)
            )
        }
        CallsClaim::Disagree { call, variants } => {
            let variants: Vec<String> = variants.iter().map(variant).collect();
            format!(
                "ranks disagree: call {} of {} is {}{}",
                call.number,
                group(call),
                variants.join(", and "),
                turnout(call.turnout)
            )
        }
        CallsClaim::Unlike { communicator, unlike } => {
            let [more, less] = &unlike.functions;
            let group = |(ranks, [of_more, of_less]): &(Vec<RasProcess>, [u64; 2])| {
                let who = processes(ranks, ranks.len() as u64);
                format!("{who} launched {} {more} and {} {less}", count(*of_more), count(*of_less))
            };
            format!(
                "ranks of communicator {communicator} disagree: {}; {}",
                group(&unlike.few),
                group(&unlike.others)
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
            format!(
                "no dump of {}; {} in {}{}",
                name::ranks(ranks),
                wait(waiting),
                named(call),
                turnout(call.turnout)
            )
        }
        CallsClaim::Failed { communicator, ranks, error } => {
            let who = processes(ranks, ranks.len() as u64);
            format!("RAS: {error} on {who} of communicator {communicator}")
        }
        CallsClaim::Inside { call, waiting, is_begun } => {
            let begun = if *is_begun { ", begun on all GPUs" } else { "" };
            let all = if call.turnout.is_full() { "all of " } else { "" };
            let unlisted = match call.turnout.of {
                None => "; no dump lists the ranks of the group",
                Some(_) => "",
            };
            format!(
                "{all}{} called {}{begun}, and it does not end{}{unlisted}",
                name::ranks(waiting),
                named(call),
                turnout(call.turnout)
            )
        }
    }
}

/// `all_reduce 4 of group 0 (default_pg)`.
fn named(call: &NamedCall) -> String {
    format!("{} {} of {}", call.name, call.number, group(call))
}

fn group(call: &NamedCall) -> String {
    match call.about.as_str() {
        "" => format!("group {}", call.group),
        about => format!("group {} ({about})", call.group),
    }
}

/// `all_reduce of [128] Float on rank 1`.
fn variant((variant, ranks): &(Variant, Vec<u32>)) -> String {
    let tensors = variant.tensors.as_ref();
    let tensors = tensors.map_or_else(String::new, |tensors| format!(" of {tensors}"));
    format!("{}{tensors} on {}", variant.name, name::ranks(ranks))
}

/// `; dumps of 3 of its 8 ranks were read`, if that is known and not all.
fn turnout(turnout: Turnout) -> String {
    let of = turnout.of.filter(|of| *of > turnout.read);
    of.map_or_else(String::new, |of| {
        format!("; dumps of {} of its {} were read", count(turnout.read), counted(of, "rank"))
    })
}

/// `3 ranks wait`.
fn wait(waiting: &[u32]) -> String {
    let verb = if waiting.len() == 1 { "waits" } else { "wait" };
    format!("{} {verb}", counted(waiting.len() as u64, "rank"))
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

/// `30 ranks (0 to 11, 14 to 31)`.
fn rank_ranges(ranks: &[u32]) -> String {
    const SHOWN: usize = 16;
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*rank) => *last = *rank,
            _ => ranges.push((*rank, *rank)),
        }
    }
    let more = ranges.len().saturating_sub(SHOWN);
    let one = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    };
    let shown: Vec<String> = ranges.iter().take(SHOWN).map(one).collect();
    let more = if more > 0 { ", ..." } else { "" };
    format!("{} ({}{more})", counted(ranks.len() as u64, "rank"), shown.join(", "))
}
