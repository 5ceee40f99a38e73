//! GPUs have no NIC nearby.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::Node;
use crate::model::node::Distance;

/// GPUs far from any NIC.
pub const KIND: Kind = Kind {
    id: "gpu_far_from_nic",
    about: "The nearest NIC of a GPU is at another NUMA node. GPUDirect RDMA is then slow or \
            off, and data crosses the CPU's interconnect.",
    threshold: "The nearest NIC of a GPU is at SYS (`nvidia-smi topo -m`): a warning without NVLink between GPUs, information \
                with it.",
    remedy: "Bind the rank to a GPU with a NIC beside it, or move the card. In a VM, give NCCL the real topology: \
             NCCL_TOPO_FILE. NCCL_NET_GDR_LEVEL=SYS allows GPUDirect at this distance; measure it.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let said = node.distances.as_ref()?;
    let known = &said.value;
    let far = known.gpus.iter().zip(&known.to_nics).filter_map(|(gpu, to_nics)| {
        let (distance, nic) = to_nics.iter().zip(&known.nics).min()?;
        (*distance == Distance::Sys).then(|| (gpu.clone(), nic.clone()))
    });
    let gpus: Vec<(String, String)> = far.collect();
    let is_linked = |row: &Vec<Distance>| row.iter().any(|one| matches!(one, Distance::NvLink(_)));
    // NCCL then sends through a GPU beside the NIC (PXN, since 2.12).
    let severity = match known.to_gpus.iter().any(is_linked) {
        true => Severity::Info,
        false => Severity::Warning,
    };
    if gpus.is_empty() {
        return None;
    }
    let claim = NodeClaim::FarFromNic { host: node.host.clone(), gpus, distance: Distance::Sys };
    let finding = KIND.finding(severity, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
