//! The EFA plugin cannot be used.

use crate::analysis::finding::claim::network::NetworkClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::Among;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::network::Outcome;
use crate::link::log::process::Process;

/// EFA plugin failures.
pub const KIND: Kind = Kind {
    id: "efa_plugin_failed",
    about: "aws-ofi-nccl was loaded but could not be used. NCCL tries its other networks and \
            usually ends on TCP.",
    threshold: "Any NET/OFI warning, or `No eligible providers were found`.",
    remedy: "`fi_info -p efa -t FI_EP_RDM` must list a provider inside the container. It needs an \
             instance type with EFA and an EFA interface attached, /dev/infiniband/uverbs* \
             mounted, vpc.amazonaws.com/efa requested by the pod, and libfabric with EFA.",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let has_failed = |process: &&Process| {
        let is_ofi = process.ofi.release.is_some()
            || process.warnings.iter().any(|warning| warning.text.starts_with("NET/OFI"));
        is_ofi
            && process.networks.iter().any(|attempt| {
                let is_plugin = attempt.name != "IB" && attempt.name != "Socket";
                is_plugin && attempt.outcome == Outcome::Failed
            })
    };
    let processes: Vec<&Process> = facts.state.logs.processes.iter().filter(has_failed).collect();
    let Some(first) = processes.first() else { return Vec::new() };
    let attempt = first.networks.iter().find(|attempt| {
        attempt.outcome == Outcome::Failed && attempt.name != "IB" && attempt.name != "Socket"
    });
    let reason = attempt.and_then(|attempt| attempt.reason.clone());
    let claim = NetworkClaim::EfaFailed {
        release: first.ofi.release.clone().unwrap_or_else(|| "of unknown release".to_owned()),
        hosts: Among::all(&processes, |process| process.host.clone()),
        reason: reason.clone(),
    };
    let mut finding = KIND.finding(Severity::Warning, claim).proven();
    if let Some(attempt) = attempt {
        let failure = LogObservation::PluginFailure(reason);
        finding = finding.because(Proof::log(failure, attempt.witness));
    }
    let warnings = first.warnings.iter().filter(|warning| warning.text.starts_with("NET/OFI"));
    for warning in warnings.take(4) {
        let quote = LogObservation::Quote(warning.text.clone());
        finding = finding.because(Proof::log(quote, warning.first));
    }
    vec![finding]
}
