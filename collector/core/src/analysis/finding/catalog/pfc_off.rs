//! No priority of an interface is lossless, or its DSCPs choose none.

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said};
use crate::model::node::{Qos, Trust};

/// PFC is off.
pub const KIND: Kind = Kind {
    id: "pfc_off",
    about: "Priority flow control is off on all priorities of an interface: RoCE shares a class in which packets \
            are dropped when a buffer is full. If the interface trusts the PCP, the DSCP that NCCL sets \
            (NCCL_IB_TC) chooses no priority either.",
    threshold: "A warning if PFC is off and the PCP is trusted on all interfaces that are listed; information if the DSCP \
                is trusted (some fabrics rely on ECN alone), or if another interface of the node has PFC.",
    remedy: "`mlnx_qos -i NETDEV --trust dscp --pfc 0,0,0,1,0,0,0,0`, the same priority and DSCP on all nodes and \
             switches; NCCL_IB_TC=106 is DSCP 26 (times 4) with the two bits of ECN. Settings do not survive a reboot by \
             themselves.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().flat_map(findings).collect()
}

fn findings(node: &Node) -> Vec<Finding> {
    let is_off = |said: &&Said<Qos>| said.value.pfc.is_some_and(|pfc| !pfc.contains(&true));
    let of_trust = |trusts_pcp: bool| {
        let trusts = move |said: &&Said<Qos>| (said.value.trust == Some(Trust::Pcp)) == trusts_pcp;
        let off: Vec<&Said<Qos>> = node.qos.iter().filter(is_off).filter(trusts).collect();
        let first = *off.first()?;
        let claim = NodeClaim::PfcOff {
            host: node.host.clone(),
            interfaces: off.iter().filter_map(|said| said.value.interface.clone()).collect(),
            trusts_pcp,
        };
        // Beside an interface that has it, one without is usually that of the front end.
        let has_other =
            node.qos.iter().any(|said| said.value.pfc.is_some_and(|pfc| pfc.contains(&true)));
        let severity = match trusts_pcp && !has_other {
            true => Severity::Warning,
            false => Severity::Info,
        };
        let finding = KIND.finding(severity, claim).proven();
        Some(finding.because(Proof::log(LogObservation::Quote(first.quote.clone()), first.witness)))
    };
    [true, false].into_iter().filter_map(of_trust).collect()
}
