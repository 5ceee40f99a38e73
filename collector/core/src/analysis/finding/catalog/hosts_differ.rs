//! Hosts of one job have different NICs or use different interfaces.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::Process;

/// Hosts differ.
pub const KIND: Kind = Kind {
    id: "hosts_differ",
    about: "Hosts of the job list different numbers of NICs for NET/IB, or use interfaces of different \
            names for the control plane. Ranks then pair NICs of different rails, or one host uses an \
            interface that leads nowhere.",
    threshold: "A warning if hosts list different numbers of ports; information if only the name of the \
                interface differs.",
    remedy: "Make the lists equal: the same NCCL_IB_HCA (=mlx5_0,mlx5_1) and NCCL_SOCKET_IFNAME on all \
             hosts, all devices in each container, and no port down (`ibdev2netdev`).",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let processes = &facts.state.logs.processes;
    let ports =
        |process: &Process| (!process.hcas.is_empty()).then(|| process.hcas.len().to_string());
    let interface = |process: &Process| process.bootstrap.as_ref().map(|(name, _)| name.clone());
    let found = [
        (Severity::Warning, "NET/IB ports", by_value(processes, ports)),
        (Severity::Info, "interface", by_value(processes, interface)),
    ];
    let found = found.into_iter().filter(|(.., values)| values.len() > 1);
    let found = found.map(|(severity, what, values)| {
        let claim = LoggedClaim::HostsDiffer { what, values };
        let first = processes.iter().map(|process| process.first).min();
        let mut finding = KIND.finding(severity, claim);
        if let Some(first) = first {
            finding = finding.because(Proof::log(LogObservation::Interfaces, first));
        }
        finding
    });
    found.collect()
}

/// Each value, and the hosts that have it and no other.
fn by_value(
    processes: &[Process],
    value: impl Fn(&Process) -> Option<String>,
) -> Vec<(String, Vec<String>)> {
    let mut by_host: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for process in processes {
        by_host.entry(&process.host).or_default().extend(value(process));
    }
    let mut by_value: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (host, values) in by_host {
        // Processes of one host that differ are another matter.
        if let (1, Some(value)) = (values.len(), values.first()) {
            by_value.entry(value.clone()).or_default().push(host.to_owned());
        }
    }
    by_value.into_iter().collect()
}
