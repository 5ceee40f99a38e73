//! NCCL's channels reach NICs over a long path.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::Node;

/// Long paths to NICs.
pub const KIND: Kind = Kind {
    id: "graph_far",
    about: "NCCL's ring reaches NICs through the CPU: over a host bridge (PHB) or the interconnect between CPUs (SYS). \
            GPUDirect RDMA is then slow or off.",
    threshold: "`typeinter` of the ring's graph (NCCL_GRAPH_DUMP_FILE) is SYS or PHB and a channel has a NIC: a warning for SYS \
                without NVLink (`typeintra`), information else.",
    remedy: "Compare with `nvidia-smi topo -m`. In a VM, give NCCL the real topology: NCCL_TOPO_FILE. \
             NCCL_NET_GDR_LEVEL allows GPUDirect at this distance; measure it.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let said = node.graphs.as_ref()?;
    let ring = said.value.graphs.iter().find(|graph| graph.id == 0)?;
    let path = ring.type_inter.as_deref().filter(|path| matches!(*path, "SYS" | "PHB"))?;
    let channels = ring.channels.iter().filter(|channel| !channel.nets.is_empty()).count() as u64;
    if channels == 0 {
        return None;
    }
    let has_nvlink = matches!(ring.type_intra.as_deref(), Some("NVL" | "NVB" | "C2C"));
    let severity = match path == "SYS" && !has_nvlink {
        true => Severity::Warning,
        false => Severity::Info,
    };
    let claim = NodeClaim::GraphFar { host: node.host.clone(), path: path.to_owned(), channels };
    let finding = KIND.finding(severity, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
