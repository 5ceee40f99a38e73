//! Does each GPU have a NIC near it?

use super::{Check, count, list, pcie_link};
use crate::doctor::fact::Facts;
use crate::doctor::fact::pci::{Function, Pci};
use crate::doctor::outcome::Outcome;
use railscope_core::model::node::Distance;

/// Distances of GPUs and NICs.
pub(super) const CHECK: Check =
    Check { name: "gpu_distance", asks: "Does each GPU have a NIC near it?", judge };

const SEEN: &str = "/sys/bus/pci/devices (as `nvidia-smi topo -m`)";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let Ok(pci) = &facts.pci else { return Vec::new() };
    let active: Vec<&Function> = {
        let functions = facts.active_ports().filter_map(|(device, _)| device.function.as_ref());
        functions.filter_map(|address| pci.functions.get(address)).collect()
    };
    if active.is_empty() || facts.gpus.is_empty() {
        return Vec::new();
    }
    let mut nearest: Vec<(&Function, Distance)> = Vec::new();
    for gpu in facts.gpus.iter().filter_map(|gpu| pci.functions.get(&gpu.function)) {
        let distances = active.iter().filter_map(|nic| Pci::distance(gpu, nic));
        nearest.extend(distances.min().map(|distance| (gpu, distance)));
    }
    // In a virtual machine the tree is made up.
    if let Some(machine) = &facts.place.machine {
        let says = format!(
            "Not checked: in a virtual machine ({machine}) the PCIe tree is not the hardware's; NCCL needs NCCL_TOPO_FILE."
        );
        return vec![Outcome::unseen(says).seen(SEEN)];
    }
    let far: Vec<&(&Function, Distance)> =
        nearest.iter().filter(|(_, distance)| *distance > Distance::Phb).collect();
    let Some(farthest) = nearest.iter().map(|(_, distance)| *distance).max() else {
        return Vec::new();
    };
    if far.is_empty() {
        let says = format!(
            "Each of {} has a NIC within {}.",
            count(nearest.len(), "GPU"),
            farthest.name()
        );
        return vec![Outcome::right(says).seen(SEEN)];
    }
    let names: Vec<String> = far.iter().map(|(gpu, _)| pcie_link::name(facts, gpu)).collect();
    let says = format!(
        "No NIC nearer than {} for {}: the data crosses {}.",
        farthest.name(),
        list(&names),
        if farthest == Distance::Sys && facts.processor.numa_nodes > 1 {
            "the link between CPU sockets"
        } else {
            "host bridges of a CPU"
        }
    );
    // A node without a nearer NIC is built so; one whose nearer NIC is down, or other GPUs of which have one, is not.
    let all: Vec<&Function> = {
        let functions = facts.devices().iter().filter_map(|device| device.function.as_ref());
        functions.filter_map(|address| pci.functions.get(address)).collect()
    };
    let has_nearer = far.iter().any(|(gpu, distance)| {
        all.iter().any(|nic| Pci::distance(gpu, nic).is_some_and(|other| other < *distance))
    });
    let is_built_so =
        !has_nearer && (far.len() == nearest.len() || active.len() * 2 <= nearest.len());
    let outcome = if is_built_so { Outcome::note(says) } else { Outcome::warning(says) };
    vec![outcome.seen(SEEN).fix("a NIC beside each GPU; is one missing or down? Else NCCL_NET_GDR_LEVEL decides whether GPUDirect RDMA is used that far")]
}
