//! A process uses InfiniBand and RoCE ports at once.

use crate::analysis::finding::claim::logged::LoggedClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::distinct;
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::log::process::{HcaFact, Process};

/// Mixed link layers.
pub const KIND: Kind = Kind {
    id: "link_layers_mixed",
    about: "NCCL's list of NICs holds ports of InfiniBand and of RoCE. Ranks whose lists differ in order \
            connect an InfiniBand port to a RoCE port, and NCCL waits for the slower of them where it \
            works.",
    threshold: "`NET/IB : Using` with ports of both link layers.",
    remedy: "Select the ports of one fabric: NCCL_IB_HCA=mlx5_0,mlx5_2 (`ibdev2netdev` and `ibstat` \
             show the link layer of each), or exclude the others (NCCL_IB_HCA=^mlx5_3).",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let has =
        |process: &Process, layer: &str| process.hcas.iter().any(|hca| hca.link_layer == layer);
    let is_mixed = |process: &&Process| has(process, "IB") && has(process, "RoCE");
    let mixed: Vec<&Process> = facts.state.logs.processes.iter().filter(is_mixed).collect();
    let Some(first) = mixed.first() else { return Vec::new() };
    let of = |layer: &'static str| {
        let hcas = mixed.iter().flat_map(|process| &process.hcas);
        let named = hcas.filter(move |hca: &&HcaFact| hca.link_layer == layer);
        distinct(named.map(|hca| hca.device.clone()))
    };
    let claim = LoggedClaim::LinkLayersMixed {
        infiniband: of("IB"),
        roce: of("RoCE"),
        hosts: distinct(mixed.iter().map(|process| process.host.clone())),
    };
    let witness =
        first.networks.iter().find(|one| one.name == "IB").map_or(first.first, |one| one.witness);
    let finding = KIND.finding(Severity::Warning, claim).proven();
    vec![finding.because(Proof::log(LogObservation::IbTaken, witness))]
}
