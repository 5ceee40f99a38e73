//! The job runs over EFA.

use crate::analysis::finding::claim::network::NetworkClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;

/// EFA.
pub const KIND: Kind = Kind {
    id: "efa",
    about: "The job's data goes over AWS EFA (SRD). That is not RoCE: no UDP port 4791, no BTH, \
            nothing to capture. Only logs and counters are available.",
    threshold: "aws-ofi-nccl with provider `efa` in the log.",
    remedy: "Check EFA's counters on each host (/sys/class/infiniband/*/ports/1/hw_counters: \
             retrans_bytes, retrans_timeout_events, impaired_remote_conn_events, rx_drops) and \
             CloudWatch's efa_* metrics.",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let on_efa = facts.state.logs.processes.iter().filter(|process| {
        let is_efa = process.ofi.provider.as_deref().is_some_and(|name| name.starts_with("efa"));
        is_efa && process.networks.chosen() != Some("Socket")
    });
    let processes: Vec<_> = on_efa.collect();
    let Some(first) = processes.first() else { return Vec::new() };
    let claim = NetworkClaim::OnEfa { processes: processes.len() as u64 };
    let plugin = LogObservation::EfaPlugin(first.ofi.release.clone());
    let finding = KIND.finding(Severity::Info, claim).proven();
    vec![finding.because(Proof::log(plugin, first.first))]
}
