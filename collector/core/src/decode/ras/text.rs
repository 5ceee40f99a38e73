//! Status in text.
//!
//! ```text
//! #0-0 (27a079b828ff1a75) MISMATCH
//!   Communicator ranks have different AllReduce operation counts
//!   26 ranks have launched up to operation 6650
//!   6 ranks have launched up to operation 6649
//!   Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210
//!   Rank 5 has launched up to operation 6648 -- GPU 5 managed by process 483077 on node 172.16.64.210
//! ```

use super::{Launched, Missing, RasCommunicator, RasProcess, RasStatus};

/// Which list the next ranks and processes are in.
enum List {
    Launched,
    Missing,
    Failed(&'static str),
    Dead,
    Other,
}

pub(super) fn status(text: &str) -> Option<RasStatus> {
    let mut status = RasStatus::default();
    let mut is_one = false;
    let mut list = List::Other;
    let mut function = String::new();
    for line in text.lines().map(str::trim) {
        is_one |= line.starts_with("Communicators...") || line == "Job summary";
        if let Some((hash, _)) = heading(line) {
            is_one = true;
            list = List::Other;
            if status.communicators.last().is_none_or(|last| last.hash != hash) {
                status.communicators.push(RasCommunicator { hash, ..RasCommunicator::default() });
            }
        } else if line == "DEAD" {
            list = List::Dead;
        } else if line.is_empty() || line == "INCOMPLETE" {
            list = List::Other;
        } else if let Some(what) = line.strip_prefix("Communicator ranks have different ") {
            let what = what.strip_suffix("operation counts").unwrap_or_default().trim();
            function = if what == "collective" { String::new() } else { what.to_owned() };
        } else if line.starts_with("Missing communicator data from") && line.contains("rank") {
            list = List::Missing;
        } else if line.starts_with("Asynchronous error") {
            list = List::Failed("asynchronous error");
        } else if line.starts_with("Initialization error") {
            list = List::Failed("initialization error");
        } else if let Some(process) = dead(line).filter(|_| matches!(list, List::Dead)) {
            status.dead.push(process);
        } else if let Some(last) = status.communicators.last_mut() {
            add(last, line, &function, &mut list);
        }
    }
    is_one.then_some(status)
}

/// A line below the heading of a communicator.
fn add(of: &mut RasCommunicator, line: &str, function: &str, list: &mut List) {
    let launched =
        |count, ranks, named| Launched { function: function.to_owned(), count, ranks, named };
    if let Some((ranks, count)) = several(line) {
        of.launched.push(launched(count, ranks, Vec::new()));
        *list = List::Launched;
        return;
    }
    let Some((process, said)) = rank(line) else { return };
    if let Some(count) = operations(said) {
        of.launched.push(launched(count, 1, vec![process]));
        return;
    }
    match list {
        List::Launched => {
            if let Some(last) = of.launched.last_mut() {
                last.named.push(process);
            }
        }
        List::Missing => of.missing.push(Missing { process, is_dead: false }),
        List::Failed(error) => of.failed.push((process, (*error).to_owned())),
        List::Dead | List::Other => {}
    }
}

/// `#0-0 (27a079b828ff1a75) MISMATCH`.
fn heading(line: &str) -> Option<(u64, &str)> {
    let (hash, error) = line.strip_prefix('#')?.split_once(" (")?.1.split_once(") ")?;
    Some((u64::from_str_radix(hash, 16).ok()?, error))
}

/// `26 ranks have launched up to operation 6650`.
fn several(line: &str) -> Option<(u64, u64)> {
    let (ranks, said) = line.split_once(" ranks have ")?;
    Some((ranks.parse().ok()?, operations(said)?))
}

/// `launched up to operation 6650`, or `not launched any operations`.
fn operations(said: &str) -> Option<u64> {
    let said = said.trim();
    if said.ends_with("not launched any operations") {
        return Some(0);
    }
    said.rsplit_once("launched up to operation ")?.1.parse().ok()
}

/// `Rank 0 -- GPU 0 managed by process 483072 on node 172.16.64.210`; also what it says of the rank.
fn rank(line: &str) -> Option<(RasProcess, &str)> {
    let (first, place) = line.strip_prefix("Rank ")?.split_once(" -- ")?;
    let (number, said) = first.split_once(' ').unwrap_or((first, ""));
    let process =
        place.split_once("managed by process ").and_then(|(_, at)| at.split_once(" on node "));
    let process = process.map(|(pid, host)| (pid.parse().ok(), host.trim().to_owned()));
    let (pid, host) = process.unzip();
    Some((RasProcess { rank: Some(number.parse().ok()?), host, pid: pid.flatten() }, said))
}

/// `Process 483072 on node 172.16.64.210 managing GPU 0`.
fn dead(line: &str) -> Option<RasProcess> {
    let (pid, rest) = line.strip_prefix("Process ")?.split_once(" on node ")?;
    let host = rest.split_once(" managing").map_or(rest, |(host, _)| host);
    Some(RasProcess { rank: None, host: Some(host.to_owned()), pid: pid.parse().ok() })
}
