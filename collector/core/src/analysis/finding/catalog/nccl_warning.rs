//! Warnings and errors in NCCL's logs.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::network::NetworkClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::log_cause;
use crate::analysis::finding::naming::Among;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::decode::nccl_log::fault::Cause;
use crate::link::log::process::Process;
use crate::link::log::warning::Warning;

/// Warnings quoted per cause.
const QUOTED: usize = 8;

/// NCCL WARN and ERROR.
pub const KIND: Kind = Kind {
    id: "nccl_warning",
    about: "NCCL or a plugin logged a WARN or ERROR that proves no cause of the catalogue. NCCL's exit \
            code and the Python exception usually hide the first cause; the first warning shows it.",
    threshold: "Any `NCCL WARN`, `NCCL ERROR` or asynchronous event without a cause. Critical if a work \
                request fails, a port goes down, CUDA fails or memory runs out; info if only the \
                machine's topology or a library could not be read; otherwise warning.",
    remedy: "Start with the earliest warning; later ones follow from it. Search the text in NCCL's \
             sources and issues, and look at the same time in the other ranks' logs.",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_cause: BTreeMap<Cause, Vec<(usize, &Process, &Warning)>> = BTreeMap::new();
    for (at, process) in facts.state.logs.processes.iter().enumerate() {
        for warning in process.warnings.iter().filter(|warning| !has_own_finding(warning)) {
            by_cause.entry(warning.cause).or_default().push((at, process, warning));
        }
    }
    let found = by_cause.into_iter().map(|(cause, warnings)| finding(facts, cause, &warnings));
    found.flatten().collect()
}

/// A plugin that cannot be used has a finding of its own, and so has a cause that the line names.
fn has_own_finding(warning: &Warning) -> bool {
    let is_plugin = warning.cause == Cause::Plugin && warning.text.starts_with("NET/OFI");
    is_plugin || log_cause::of_line(&warning.text).is_some()
}

fn finding(
    facts: &Facts<'_>,
    cause: Cause,
    warnings: &[(usize, &Process, &Warning)],
) -> Option<Finding> {
    // Lines of several logs have no common order: the first process's line is shown.
    let (at, process, first) = *warnings.first()?;
    let mut processes: Vec<usize> = warnings.iter().map(|(at, ..)| *at).collect();
    processes.dedup();
    let claim = NetworkClaim::Warned {
        warnings: warnings.iter().map(|(.., warning)| warning.count).sum(),
        hosts: Among::all(&processes, |_| process.host.clone()),
        first: first.text.clone(),
    };
    let is_only = processes.len() == 1 && process.memberships.len() == 1;
    let rank = process.memberships.first().map(|member| member.rank).filter(|_| is_only);
    let communicator = facts.state.memberships.get(&(at, 0)).copied().filter(|_| is_only);
    let mut finding = KIND
        .finding(severity(cause), claim)
        .caused_by(cause.name())
        .about(Subject { communicator, rank, ..Subject::default() })
        .proven();
    let mut quoted: Vec<&str> = Vec::new();
    for (_, process, warning) in warnings {
        if quoted.len() < QUOTED && !quoted.contains(&warning.text.as_str()) {
            quoted.push(&warning.text);
            let quote = LogObservation::Warning {
                host: process.host.clone(),
                pid: process.pid,
                text: warning.text.clone(),
            };
            finding = finding.because(Proof::log(quote, warning.first));
        }
    }
    Some(finding)
}

const fn severity(cause: Cause) -> Severity {
    match cause {
        Cause::RetryExceeded | Cause::WorkRequest | Cause::Port | Cause::Cuda | Cause::Memory => {
            Severity::Critical
        }
        Cause::Library | Cause::Topology => Severity::Info,
        _ => Severity::Warning,
    }
}
