//! Libfabric offers no provider for EFA.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::node::{Node, Said};
use crate::model::provider::{Endpoint, Providers};

/// No provider.
pub const KIND: Kind = Kind {
    id: "fi_no_provider",
    about: "Libfabric does not offer the provider that was asked for, or none for the EFA devices of the node: NCCL's OFI \
            plugin then fails, or takes TCP.",
    threshold: "`fi_info` failed with -61 (information if it was asked for another provider than EFA), or all that it listed \
                are providers of software although the node has EFA devices (`rdmap...`, `efa_...`).",
    remedy: "EFA: an instance type that has it, an interface with EFA attached, the EFA installer on the host (driver) and in \
             the container (libfabric), /dev/infiniband passed into the container. `fi_info -p efa -t FI_EP_RDM` must \
             list a device.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Error of `fi_getinfo`: no data available.
const NO_DATA: i32 = -61;

/// Providers that need no device of their own (fi_provider(7)).
const SOFTWARE: &[&str] = &["tcp", "sockets", "udp", "shm", "net", "sm2", "lnx", "off_coll", "UDP"];

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    facts.state.nodes.iter().filter_map(of_node).collect()
}

/// One of a node is enough: people run `fi_info` again and again.
fn of_node(node: &Node) -> Option<Finding> {
    let mut runs = node.providers.iter();
    // A later run may have succeeded.
    let is_efa = |one: &Endpoint| one.core() == "efa";
    let has_efa = node.providers.iter().any(|said| said.value.endpoints.iter().any(is_efa));
    let devices = efa_devices(node);
    runs.find_map(|said| finding(node, said, &devices, has_efa))
}

fn finding(
    node: &Node,
    said: &Said<Providers>,
    devices: &BTreeSet<&str>,
    has_efa: bool,
) -> Option<Finding> {
    let run = &said.value;
    let asks_efa = run.asked.as_deref().is_none_or(|asked| asked == "efa");
    let is_software = |one: &Endpoint| SOFTWARE.contains(&one.core());
    let is_failed = run.error == Some(NO_DATA);
    let is_missed = !devices.is_empty()
        && run.asked.is_none()
        && !run.endpoints.is_empty()
        && run.endpoints.iter().all(is_software);
    if !(is_failed || is_missed) || (has_efa && asks_efa) {
        return None;
    }
    let devices: Vec<String> = devices.iter().map(|name| (*name).to_owned()).collect();
    let listed: BTreeSet<&str> = run.endpoints.iter().map(Endpoint::core).collect();
    let missing = run.asked.clone().or_else(|| (!devices.is_empty()).then(|| "efa".to_owned()));
    let severity = if asks_efa { Severity::Warning } else { Severity::Info };
    let claim = NodeClaim::NoProvider {
        host: node.host.clone(),
        missing,
        listed: listed.into_iter().map(str::to_owned).collect(),
        devices: if asks_efa { devices } else { Vec::new() },
    };
    let finding = KIND.finding(severity, claim).proven();
    Some(finding.because(Proof::log(LogObservation::Quote(said.quote.clone()), said.witness)))
}

/// RDMA devices that rdma-core names as those of EFA: udev's fallback name, or the older one.
fn efa_devices(node: &Node) -> BTreeSet<&str> {
    let names = node.ports.iter().map(|said| said.value.device.as_str());
    names.filter(|name| name.starts_with("rdmap") || name.starts_with("efa_")).collect()
}
