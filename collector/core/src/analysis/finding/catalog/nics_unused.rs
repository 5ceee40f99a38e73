//! NICs that no channel of NCCL uses.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::Node;

/// Unused NICs.
pub const KIND: Kind = Kind {
    id: "nics_unused",
    about: "NCCL's graphs have no channel over a NIC that its topology has. Jobs that use few GPUs of a node leave NICs out; \
            if all GPUs take part, the node has less bandwidth than its NICs.",
    threshold: "A NIC of the topology (NCCL_TOPO_DUMP_FILE) is in no graph (NCCL_GRAPH_DUMP_FILE): information.",
    remedy: "Compare the topology with the hardware: distances (`nvidia-smi topo -m`), rates of the ports, NCCL_IB_HCA. \
             NCCL_CROSS_NIC and NCCL_MIN_NCHANNELS change which NICs are used.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(finding).collect()
}

fn finding(node: &Node) -> Option<Finding> {
    let said = node.graphs.as_ref()?;
    let known = &node.distances.as_ref()?.value;
    let channels = said.value.graphs.iter().flat_map(|graph| &graph.channels);
    let used: BTreeSet<u32> = channels.flat_map(|channel| channel.nets.iter().copied()).collect();
    let numbers: BTreeSet<u32> = known.nic_numbers.iter().flatten().copied().collect();
    // NICs that NCCL merged have numbers of their own; without a NIC in any channel, one node is all.
    if used.is_empty() || !used.is_subset(&numbers) {
        return None;
    }
    let of = |is_used: bool| {
        let both = known.nics.iter().zip(&known.nic_numbers);
        let own = both
            .filter(|(_, number)| number.is_some_and(|number| used.contains(&number) == is_used));
        own.map(|(name, _)| name.clone()).collect::<Vec<String>>()
    };
    let unused = of(false);
    if unused.is_empty() {
        return None;
    }
    let ring = said.value.graphs.iter().find(|graph| graph.id == 0);
    let channels = ring.map_or(0, |ring| ring.channels.len() as u64);
    let claim = NodeClaim::NicsUnused { host: node.host.clone(), unused, used: of(true), channels };
    let finding = KIND.finding(Severity::Info, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
