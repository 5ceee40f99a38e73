//! The control plane uses an interface that does not lead to other hosts.

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::distinct;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::Process;

/// Odd interfaces.
pub const KIND: Kind = Kind {
    id: "odd_interface",
    about: "NCCL chose an interface of a container engine, a bridge of virtual machines, a tunnel or the \
            loopback, or one with a link-local address. Other hosts usually cannot reach it: connections \
            time out or are refused.",
    threshold: "The first interface of the bootstrap or of NET/Socket has such a name or address; \
                information, since it works within a host and on cables between two hosts.",
    remedy: "If ranks are on several hosts, select the interface of their network: \
             NCCL_SOCKET_IFNAME=eth0, or exclude others: ^docker0,lo,virbr0,veth (`ip -br addr`).",
    needs: &[Need::Logs],
    detect,
};

/// Names of interfaces that stay on the host.
const LOCAL: &[&str] = &[
    "docker", "veth", "virbr", "br-", "cni", "flannel", "cali", "tun", "tap", "ip6tnl", "sit",
    "lo", "podman", "lxc", "vnet", "dummy",
];

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let processes = facts.state.logs.processes.iter();
    let odd: Vec<(&Process, String)> =
        processes.filter_map(|process| Some((process, odd(process)?))).collect();
    let Some((first, _)) = odd.first() else { return Vec::new() };
    let claim = LoggedClaim::OddInterface {
        interfaces: distinct(odd.iter().map(|(_, name)| name.clone())),
        hosts: distinct(odd.iter().map(|(process, _)| process.host.clone())),
    };
    let finding = KIND.finding(Severity::Info, claim).proven();
    vec![finding.because(Proof::log(LogObservation::Interfaces, first.first))]
}

/// The first interface of a process, if it is odd.
fn odd(process: &Process) -> Option<String> {
    let socket = process.interfaces.first().map(|(name, address)| (name.clone(), address.clone()));
    let bootstrap = process.bootstrap.as_ref().map(|(name, address)| {
        (name.clone(), address.map_or_else(String::new, |address| address.to_string()))
    });
    let is_odd = |(name, address): &(String, String)| {
        let is_local = LOCAL.iter().any(|start| match *start {
            "lo" => name == "lo",
            start => name.starts_with(start),
        });
        is_local || address.starts_with("fe80") || address.starts_with("169.254.")
    };
    bootstrap.filter(is_odd).or(socket.filter(is_odd)).map(|(name, _)| name)
}
