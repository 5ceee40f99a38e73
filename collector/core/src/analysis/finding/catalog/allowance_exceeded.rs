//! A cloud instance went beyond the allowance of its size.

use crate::analysis::finding::claim::node::{NodeClaim, Period};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::link::tool::node::{Node, Said};
use crate::model::node::Totals;

/// Allowances exceeded.
pub const KIND: Kind = Kind {
    id: "allowance_exceeded",
    about: "The cloud queued or dropped packets of an ENA interface because the instance went beyond what its \
            size allows: bandwidth, packets or connections. Traffic of EFA does not count.",
    threshold: "A counter *_allowance_exceeded of the ENA driver is above 0. \
                A warning if it rose between two readings, information if only one is known: \
                it counts since boot, so it does not show when.",
    remedy: "A bigger instance, or data on EFA instead of \
             sockets (FI_PROVIDER=efa, aws-ofi-nccl).",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let all = facts.state.nodes.iter().flat_map(Node::totals_by_name);
    all.filter_map(|(device, said)| finding(device, said)).collect()
}

fn finding(device: Option<String>, said: &Said<Totals>) -> Option<Finding> {
    let counters = said.value.moved(|name| name.ends_with("_allowance_exceeded"));
    if counters.is_empty() {
        return None;
    }
    let period = Period::of(&said.value);
    let claim = NodeClaim::AllowanceExceeded { period, device, counters };
    let finding = KIND.finding(period.severity(), claim);
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
