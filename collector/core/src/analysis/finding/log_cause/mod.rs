//! Causes that a log names, one a file: what lines prove it, what it is confused with, the remedy.
//!
//! A line proves at most one cause, the first of [`ALL`]. Causes have depths: what fails because of
//! something deeper is its consequence, and is reported beneath it.

mod acs_redirects;
mod address_not_local;
mod collectives_differ;
mod completion_failed;
mod connect_timeout;
mod connection_rejected;
mod cuda_failed;
mod desync_report;
mod device_not_usable;
mod devices_differ;
mod driver_mismatch;
mod duplicate_gpu;
mod duplicate_rank;
mod efa_address;
mod efa_device;
mod efa_fork;
mod efa_gdr_refused;
mod efa_no_provider;
mod efa_registration;
mod flushed;
mod gid_not_usable;
mod gin_retry_exceeded;
mod gin_setup_waits;
mod gin_unavailable;
mod gpu_failed;
mod gpu_program;
mod gpu_recovery;
mod gpu_registration;
mod imex_missing;
mod interface_missing;
mod launch_failed;
mod libfabric_old;
mod link_local_interface;
mod local_protection;
mod locked_memory;
mod module_failed;
mod name_unknown;
mod network_unreachable;
mod nic_failed;
mod nobody_listens;
mod nvlink_failed;
mod nvls_failed;
mod oom_killed;
mod p2p_broken;
mod pcie_corrected;
mod pcie_errors;
mod pcie_failed;
mod peer_closed;
mod plugin_mismatch;
mod port_changed;
mod port_down;
mod port_in_use;
mod process_failed;
mod proxy_failed;
mod proxy_pool_waits;
mod queue_pair_event;
mod queue_pair_unreachable;
mod rccl_host_settings;
mod receiver_not_posted;
mod release_mismatch;
mod remote_refused;
mod rendezvous_failed;
mod retry_exceeded;
mod shared_memory;
mod time_limit;
mod too_many_files;
mod verbs_library_missing;
mod watchdog_stuck;

use std::collections::BTreeMap;

use super::claim::logged::LoggedClaim;
use super::facts::Facts;
use super::observation::LogObservation;
use super::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::decode::job_log::watchdog;
use crate::decode::nccl_log::fault::FailedCompletion;
use crate::link::log::process::Process;
use crate::link::log::sign::{Sign, Writer};
use crate::model::grade::Grade;
use crate::model::witness::Witness;

/// A cause.
#[derive(Clone, Copy, Debug)]
pub struct LogCause {
    /// Its name, as in `suppress`.
    pub id: &'static str,
    /// What is wrong.
    pub what: &'static str,
    /// How deep it lies.
    pub depth: Depth,
    /// How bad it is, if nothing deeper is there.
    pub severity: Severity,
    /// Lines that prove it, in the forms of several releases.
    pub lines: &'static [&'static str],
    /// Whether a line proves it.
    pub proves: fn(&str) -> bool,
    /// Environment variables whose values belong to it.
    pub variables: &'static [&'static str],
    /// What it is confused with.
    pub unlike: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// Where meaning and remedy are documented.
    pub source: &'static str,
}

/// How deep a cause lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// It follows from any other.
    Echo,
    /// It may follow from a root.
    Effect,
    /// It follows from nothing else.
    Root,
}

/// Every cause, the more specific one of two first.
// tidy: table
pub const ALL: &[&LogCause] = &[
    &locked_memory::CAUSE,
    &efa_registration::CAUSE,
    &gpu_registration::CAUSE,
    &queue_pair_unreachable::CAUSE,
    &gid_not_usable::CAUSE,
    &device_not_usable::CAUSE,
    &devices_differ::CAUSE,
    &interface_missing::CAUSE,
    &port_in_use::CAUSE,
    &address_not_local::CAUSE,
    &link_local_interface::CAUSE,
    &connection_rejected::CAUSE,
    &nobody_listens::CAUSE,
    &connect_timeout::CAUSE,
    &network_unreachable::CAUSE,
    &name_unknown::CAUSE,
    &module_failed::CAUSE,
    &port_down::CAUSE,
    &port_changed::CAUSE,
    &pcie_failed::CAUSE,
    &pcie_errors::CAUSE,
    &pcie_corrected::CAUSE,
    &nic_failed::CAUSE,
    &queue_pair_event::CAUSE,
    &local_protection::CAUSE,
    &gin_retry_exceeded::CAUSE,
    &retry_exceeded::CAUSE,
    &receiver_not_posted::CAUSE,
    &remote_refused::CAUSE,
    &flushed::CAUSE,
    &completion_failed::CAUSE,
    &efa_gdr_refused::CAUSE,
    &efa_no_provider::CAUSE,
    &efa_address::CAUSE,
    &efa_fork::CAUSE,
    &efa_device::CAUSE,
    &libfabric_old::CAUSE,
    &plugin_mismatch::CAUSE,
    &driver_mismatch::CAUSE,
    &gpu_program::CAUSE,
    &nvlink_failed::CAUSE,
    &gpu_failed::CAUSE,
    &gpu_recovery::CAUSE,
    &nvls_failed::CAUSE,
    &imex_missing::CAUSE,
    &gin_unavailable::CAUSE,
    &gin_setup_waits::CAUSE,
    &proxy_pool_waits::CAUSE,
    &acs_redirects::CAUSE,
    &cuda_failed::CAUSE,
    &p2p_broken::CAUSE,
    &shared_memory::CAUSE,
    &release_mismatch::CAUSE,
    &duplicate_rank::CAUSE,
    &duplicate_gpu::CAUSE,
    &collectives_differ::CAUSE,
    &desync_report::CAUSE,
    &watchdog_stuck::CAUSE,
    &oom_killed::CAUSE,
    &too_many_files::CAUSE,
    &launch_failed::CAUSE,
    &rendezvous_failed::CAUSE,
    &process_failed::CAUSE,
    &peer_closed::CAUSE,
    &proxy_failed::CAUSE,
    &time_limit::CAUSE,
    &verbs_library_missing::CAUSE,
    &rccl_host_settings::CAUSE,
];

/// Lines quoted per cause.
const QUOTED: usize = 8;

/// The cause that a line proves.
#[must_use]
pub fn of_line(text: &str) -> Option<&'static LogCause> {
    ALL.iter().copied().find(|cause| (cause.proves)(text))
}

/// The cause with this name.
#[must_use]
pub fn named(id: &str) -> Option<&'static LogCause> {
    ALL.iter().copied().find(|cause| cause.id == id)
}

/// The signs of each cause that is not suppressed, in order of the first sign.
fn proven<'a>(facts: &Facts<'a>) -> Vec<(&'static LogCause, Vec<&'a Sign>)> {
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<(&'static LogCause, Vec<&'a Sign>)> = Vec::new();
    for sign in facts.state.logs.signs.iter() {
        let Some(cause) = of_line(&sign.text) else { continue };
        if facts.settings.suppresses(cause.id) {
            continue;
        }
        let at = *by_id.entry(cause.id).or_insert(all.len());
        match all.get_mut(at) {
            Some((_, signs)) => signs.push(sign),
            None => all.push((cause, vec![sign])),
        }
    }
    all
}

/// How deep the deepest cause in the logs lies; `None` if none is a problem.
#[must_use]
pub fn depth(facts: &Facts<'_>) -> Option<Depth> {
    let found = proven(facts);
    let problems =
        found.iter().filter(|(cause, signs)| severity(facts, cause, signs) > Severity::Info);
    problems.map(|(cause, _)| cause.depth).max()
}

/// Findings on all causes: the deepest first, in order of their first lines. Consequences are only
/// information.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = proven(facts);
    found.sort_by_key(|(cause, _)| std::cmp::Reverse(cause.depth));
    let deepest = depth(facts);
    let finding = |(cause, signs): (&'static LogCause, Vec<&Sign>)| {
        let is_consequence = deepest.is_some_and(|deepest| cause.depth < deepest);
        let own = severity(facts, cause, &signs);
        let severity = if is_consequence { Severity::Info } else { own };
        finding(facts, cause, severity, &signs)
    };
    found.into_iter().filter_map(finding).collect()
}

/// How bad a cause is: information where NCCL took another way and its communicators came up, for example
/// when it connects again until the other rank listens. What it warns of before a communicator that comes
/// up did not keep it from that.
fn severity(facts: &Facts<'_>, cause: &LogCause, signs: &[&Sign]) -> Severity {
    let is_overcome = |sign: &&Sign| {
        let process = process_of(facts, sign).map(|(_, process)| process);
        let mut whole = process
            .into_iter()
            .flat_map(|process| &process.memberships)
            .filter(|member| member.is_complete);
        match sign.writer {
            Writer::Info => whole.next().is_some(),
            Writer::Warning => whole.any(|member| is_before(sign.first, member.first)),
            Writer::Other => false,
        }
    };
    let follows =
        cause.id == watchdog_stuck::CAUSE.id && signs.iter().all(|sign| has_timed_out(facts, sign));
    if follows || signs.iter().all(is_overcome) { Severity::Info } else { cause.severity }
}

/// Whether the rank that a line of PyTorch is about reported before that a collective timed out: what
/// hangs then is the end of that collective.
fn has_timed_out(facts: &Facts<'_>, sign: &Sign) -> bool {
    let Some(rank) = watchdog::rank_of_launcher(&sign.text) else { return false };
    let groups = facts.state.logs.watchdogs.values();
    groups.flatten().any(|(of, one)| *of == rank && is_before(one.first, sign.first))
}

/// Whether one line stands before another in the same log.
fn is_before(one: Witness, other: Witness) -> bool {
    match (one, other) {
        (Witness::Line { log, number }, Witness::Line { log: of, number: next }) => {
            log == of && number < next
        }
        _ => false,
    }
}

fn finding(
    facts: &Facts<'_>,
    cause: &'static LogCause,
    severity: Severity,
    signs: &[&Sign],
) -> Option<Finding> {
    // NCCL's own warning says more than what others quote of it.
    let first = *signs.iter().min_by_key(|sign| (sign.writer, sign.first))?;
    let mut hosts: Vec<String> = Vec::new();
    for host in signs.iter().flat_map(|sign| &sign.hosts) {
        if !hosts.contains(host) {
            hosts.push(host.clone());
        }
    }
    let process = signs.iter().find_map(|sign| process_of(facts, sign));
    let settings = cause.variables.iter().filter_map(|name| {
        let (_, process) = process?;
        let value = process.environment.get(*name)?;
        Some(((*name).to_owned(), value.clone()))
    });
    let only = process.filter(|(_, process)| process.memberships.len() == 1 && signs.len() == 1);
    let rank = only.and_then(|(_, process)| Some(process.memberships.first()?.rank));
    let communicator = only.and_then(|(at, _)| facts.state.memberships.get(&(at, 0)).copied());
    let claim = LoggedClaim::Cause {
        what: cause.what,
        hosts,
        lines: signs.iter().map(|sign| sign.count).sum(),
        settings: settings.collect(),
        quote: first.text.clone(),
    };
    let mut finding = Finding {
        id: cause.id,
        severity,
        claim: claim.into(),
        cause: None,
        subject: Subject { communicator, rank, ..Subject::default() },
        flows: Vec::new(),
        span: None,
        grade: Grade::Proven,
        evidence: Vec::new(),
        remedy: cause.remedy,
    };
    let others = signs.iter().copied().filter(|sign| sign.first != first.first);
    for sign in std::iter::once(first).chain(others).take(QUOTED) {
        finding = finding.because(Proof::log(quote(sign), sign.first));
    }
    Some(finding)
}

/// What a sign shows.
#[must_use]
pub fn quote(sign: &Sign) -> LogObservation {
    match (&sign.process, sign.writer) {
        (Some((host, pid)), Writer::Warning | Writer::Info) => {
            LogObservation::Warning { host: host.clone(), pid: *pid, text: sign.text.clone() }
        }
        _ => LogObservation::Quote(sign.text.clone()),
    }
}

/// The process that wrote a sign, and its place; processes are in order of host and process id.
fn process_of<'a>(facts: &Facts<'a>, sign: &Sign) -> Option<(usize, &'a Process)> {
    let (host, pid) = sign.process.as_ref()?;
    let processes = &facts.state.logs.processes;
    let order = |one: &Process| (one.host.as_str(), one.pid).cmp(&(host, *pid));
    let at = processes.binary_search_by(order).ok()?;
    Some((at, processes.get(at)?))
}

/// Whether `text` has all of these words.
fn has(text: &str, words: &[&str]) -> bool {
    words.iter().all(|word| text.contains(word))
}

/// Whether `text` is a frame of a stack, as eu-stack, pstack and gdb print it, of a function that has
/// called another one.
fn is_frame(text: &str, function: &str) -> bool {
    let Some((number, rest)) = text.trim_start().strip_prefix('#').and_then(|text| {
        let (number, rest) = text.split_once(char::is_whitespace)?;
        Some((number.parse::<u32>().ok()?, rest))
    }) else {
        return false;
    };
    let mut names = rest.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
    number > 0 && names.any(|name| name == function)
}

/// `ibv_wc_status` of a failed work request.
fn completion_status(text: &str) -> Option<u32> {
    FailedCompletion::read(text).map(|failed| failed.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_cause_prove_it_and_no_other() {
        for cause in ALL {
            for line in cause.lines {
                assert_eq!(of_line(line).map(|found| found.id), Some(cause.id), "{line}");
            }
        }
    }

    #[test]
    fn frames() {
        assert!(is_frame("#12 0x00ff pncclAllGather", "pncclAllGather"));
        assert!(is_frame("  #1  ncclLocalOpAppend(ncclComm*)", "ncclLocalOpAppend"));
        for other in
            ["#0  ncclLocalOpAppend(ncclComm*)", "PC: @ 0xe1 (unknown) ncclLocalOpAppend()"]
        {
            assert!(!is_frame(other, "ncclLocalOpAppend"), "{other}");
        }
        assert!(!is_frame("#1 myncclLocalOpAppend()", "ncclLocalOpAppend"));
    }

    #[test]
    fn every_completion_status_has_a_cause() {
        for status in 1..=22 {
            let status = status.to_string();
            let old =
                ["NET/IB : Got completion with error ", &status, ", opcode 1, len 0"].concat();
            let new = ["NET/IB : Got completion from peer n2<1> with status=", &status, " len=0"];
            let new = new.concat();
            assert!(of_line(&old).is_some() && of_line(&new).is_some(), "{status}");
        }
    }
}
