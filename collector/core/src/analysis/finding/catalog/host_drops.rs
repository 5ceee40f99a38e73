//! A NIC dropped packets that it had received.

use crate::analysis::finding::claim::node::{NodeClaim, Period};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::link::tool::node::{Node, Said};
use crate::model::node::Totals;

/// Drops at the receiver.
pub const KIND: Kind = Kind {
    id: "host_drops",
    about: "The NIC dropped packets because the host did not take them: no buffer in the receive ring, or a \
            full queue. The network delivered them.",
    threshold: "A counter of such drops is above 0. \
                A warning if it rose between two readings, information if only one is known: \
                it counts since boot, so it does not show when.",
    remedy: "A larger receive ring (`ethtool -g`, `-G`), \
             interrupts on the NIC's NUMA node, and PCIe (`lspci -vv`: LnkSta).",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Names of drops at the receiver, before or behind another word, such as `port.`, `.nic` or `[0]: ` (drivers' `ethtool -S`).
const NAMES: &[&str] = &[
    "rx_dropped",
    "rx_missed",
    "rx_missed_errors",
    "rx_no_buffer_count",
    "rx_no_dma_resources",
    "rx_out_of_buffer",
    "rx_discards_phy",
    "rx_fifo_errors",
    "rx_over_errors",
    "rx_drops",
    "rx_overruns",
    "rx_discards",
    "rx_total_discard_pkts",
];

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let all = facts.state.nodes.iter().flat_map(Node::totals_by_name);
    all.filter_map(|(device, said)| finding(device, said)).collect()
}

fn finding(device: Option<String>, said: &Said<Totals>) -> Option<Finding> {
    let totals = &said.value;
    let is_drop = |name: &str| name.split(['.', ' ']).any(|part| NAMES.contains(&part));
    let counters = totals.moved(is_drop);
    if counters.is_empty() {
        return None;
    }
    let period = Period::of(totals);
    let claim =
        NodeClaim::HostDrops { period, device, counters, received: totals.counted("rx_packets") };
    let finding = KIND.finding(period.severity(), claim);
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}
