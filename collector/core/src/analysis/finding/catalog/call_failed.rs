//! A call of NCCL failed, and no warning says why.

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::distinct;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::Process;
use crate::link::log::sign::Writer;

/// Failed calls.
pub const KIND: Kind = Kind {
    id: "call_failed",
    about: "A function of NCCL returned an error up to its caller, and no process warned: the reason is \
            in a part of the log that is missing, or in another rank's.",
    threshold: "A chain of lines such as `transport/net.cc:357 -> 2` and no `NCCL WARN` in any log.",
    remedy: "Read the log of every rank: the first NCCL WARN in time is the cause. 1: CUDA, 2: the system \
             (network, memory, files), 3: internal, 5: usage, 6: another process exited or the network \
             failed. NCCL_DEBUG=INFO on all ranks, one file each (NCCL_DEBUG_FILE=nccl.%h.%p.log).",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let logs = &facts.state.logs;
    if logs.signs.iter().any(|sign| sign.writer == Writer::Warning) {
        return Vec::new();
    }
    let has_failed = |process: &&Process| process.failed_call.is_some();
    let processes: Vec<&Process> = logs.processes.iter().filter(has_failed).collect();
    let calls = processes.iter().filter_map(|process| process.failed_call.as_ref());
    let Some(first) = calls.min_by_key(|call| call.witness) else { return Vec::new() };
    let claim = LoggedClaim::CallFailed {
        hosts: distinct(processes.iter().map(|process| process.host.clone())),
        place: first.place.clone(),
        error: first.error.clone(),
    };
    let quote =
        LogObservation::FailedCall { place: first.place.clone(), error: first.error.clone() };
    let finding = KIND.finding(Severity::Warning, claim).proven();
    vec![finding.because(Proof::log(quote, first.witness))]
}
