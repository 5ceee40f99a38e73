//! The EFA plugin cannot be used.

use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Proof, Severity};
use crate::link::log::network::Outcome;
use crate::link::log::process::Process;
use crate::model::quantity::count;

/// EFA plugin failures.
pub const KIND: Kind = Kind {
    id: "efa_plugin_failed",
    about: "aws-ofi-nccl was loaded and could not be used, so that NCCL looks for another network and \
            mostly ends on TCP.",
    threshold: "Any warning of NET/OFI, or `No eligible providers were found`.",
    remedy: "`fi_info -p efa -t FI_EP_RDM` inside the container must list a provider: EFA interface \
             attached and instance type with EFA, /dev/infiniband/uverbs* mounted, vpc.amazonaws.com/efa \
             requested by the pod, libfabric with EFA.",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let has_failed = |process: &&Process| {
        process.ofi.release.is_some()
            && process.networks.iter().any(|attempt| {
                let is_plugin = attempt.name != "IB" && attempt.name != "Socket";
                is_plugin && attempt.outcome == Outcome::Failed
            })
    };
    let processes: Vec<&Process> = facts.state.logs.processes.iter().filter(has_failed).collect();
    let Some(first) = processes.first() else { return Vec::new() };
    let on = match processes.as_slice() {
        [process] => process.host.clone(),
        several => format!("{} processes", count(several.len() as u64)),
    };
    let attempt = first.networks.iter().find(|attempt| {
        attempt.outcome == Outcome::Failed && attempt.name != "IB" && attempt.name != "Socket"
    });
    let reason = attempt.and_then(|attempt| attempt.reason.as_deref()).unwrap_or("no reason told");
    let release = first.ofi.release.as_deref().unwrap_or("");
    let title = format!("EFA plugin aws-ofi-nccl {release} failed on {on}: {reason}");
    let mut finding = Finding::new(&KIND, Severity::Warning, title).proven();
    if let Some(attempt) = attempt {
        finding = finding.because(Proof::log(reason.to_owned(), attempt.witness));
    }
    let warnings = first.warnings.iter().filter(|warning| warning.text.starts_with("NET/OFI"));
    for warning in warnings.take(4) {
        finding = finding.because(Proof::log(warning.text.clone(), warning.first));
    }
    vec![finding]
}
