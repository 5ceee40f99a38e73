//! A port sent more pause than it received, by its counters.

use crate::analysis::finding::claim::node::{NodeClaim, Period};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::link::tool::node::{Node, Said};
use crate::model::node::Totals;

/// Pause sent.
pub const KIND: Kind = Kind {
    id: "pause_sent",
    about: "The port asked its switch to stop more often than it was asked: this host cannot take what arrives, and \
            its pauses spread into the fabric.",
    threshold: "Pause frames sent of a priority (tx_prioN_pause) exceed those received. \
                A warning if it rose between two readings, information if only one is known: \
                it counts since boot, so it does not show when.",
    remedy: "What slows the host: PCIe width and speed, \
             a GPU behind another socket, relaxed ordering, a slow receiver (`railscope capture`).",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Pauses sent below which nothing is said.
const FEW: u64 = 100;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let all = facts.state.nodes.iter().flat_map(Node::totals_by_name);
    all.flat_map(|(device, said)| findings(device.as_deref(), said)).collect()
}

fn findings(device: Option<&str>, said: &Said<Totals>) -> Vec<Finding> {
    let of = |priority: Option<u8>| {
        let mut both = names(priority)
            .into_iter()
            .filter_map(|[tx, rx]| said.value.counted(&tx).zip(said.value.counted(&rx)));
        let (sent, received) = both.next()?;
        if sent < FEW || sent <= received {
            return None;
        }
        let device = device.map(str::to_owned);
        let period = Period::of(&said.value);
        let claim = NodeClaim::PauseSent { period, device, priority, sent, received };
        let finding = KIND.finding(period.severity(), claim);
        Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
    };
    std::iter::once(None).chain((0..8).map(Some)).filter_map(of).collect()
}

/// Names of pauses sent and received, by driver: mlx5 and others, ice, bnxt.
fn names(priority: Option<u8>) -> Vec<[String; 2]> {
    let both = |name: &dyn Fn(&str) -> String| ["tx", "rx"].map(name);
    match priority.map(|priority| priority.to_string()) {
        None => vec![
            both(&|direction| [direction, "_pause"].concat()),
            both(&|direction| [direction, "_global_pause"].concat()),
        ],
        Some(priority) => vec![
            both(&|direction| [direction, "_prio", &priority, "_pause"].concat()),
            both(&|direction| [direction, "_priority_", &priority, "_xoff.nic"].concat()),
            both(&|direction| [direction, "_pfc_ena_frames_pri", &priority].concat()),
        ],
    }
}
