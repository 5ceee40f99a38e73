//! Processes of one job do not agree on the network.

use std::collections::BTreeMap;

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::distinct;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::Process;

/// Networks differ.
pub const KIND: Kind = Kind {
    id: "networks_differ",
    about: "Some ranks use RDMA while others use NET/Socket. They cannot connect to each other: the job \
            hangs, or fails with a mismatch.",
    threshold: "NET/IB (or a plugin) in some processes of the logs and NET/Socket in others; critical if \
                they are ranks of one communicator.",
    remedy: "Give every process the same devices: all pods need the RDMA device (and their own VF: \
             NCCL_IB_HCA names it), all containers /dev/infiniband and libibverbs, all ranks the same \
             NCCL_IB_DISABLE and NCCL_NET. NCCL_NET=IB makes the ranks without it fail at once.",
    needs: &[Need::Logs],
    detect,
};

/// Whether ranks of one communicator use different networks.
fn is_one_job(facts: &Facts<'_>) -> bool {
    let mut by_communicator: BTreeMap<_, &str> = BTreeMap::new();
    facts.state.memberships.iter().any(|((at, _), id)| {
        let process = facts.state.logs.processes.get(*at);
        let network = process.and_then(|process| process.networks.chosen());
        network.is_some_and(|network| *by_communicator.entry(*id).or_insert(network) != network)
    })
}

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut by_network: BTreeMap<&str, Vec<&Process>> = BTreeMap::new();
    for process in &facts.state.logs.processes {
        if let Some(network) = process.networks.chosen() {
            by_network.entry(network).or_default().push(process);
        }
    }
    if by_network.len() < 2 || !by_network.contains_key("Socket") {
        return Vec::new();
    }
    let networks = by_network.iter().map(|(network, processes)| {
        let hosts = distinct(processes.iter().map(|process| process.host.clone()));
        ((*network).to_owned(), hosts)
    });
    let claim = LoggedClaim::NetworksDiffer { networks: networks.collect() };
    let severity = if is_one_job(facts) { Severity::Critical } else { Severity::Warning };
    let mut finding = KIND.finding(severity, claim);
    for (network, processes) in &by_network {
        let attempts = processes.iter().flat_map(|process| process.networks.iter());
        let Some(attempt) = attempts.into_iter().find(|one| one.name == *network) else { continue };
        let taken = match *network {
            "Socket" => LogObservation::SocketTaken,
            _ => LogObservation::IbTaken,
        };
        finding = finding.because(Proof::log(taken, attempt.witness));
    }
    vec![finding]
}
