//! Does the node have RDMA devices?

use super::{Check, count, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::pci::Function;
use crate::doctor::outcome::Outcome;
use crate::doctor::tree::Why;

/// RDMA devices.
pub(super) const CHECK: Check =
    Check { name: "rdma_devices", asks: "Does the node have RDMA devices?", judge };

const SEEN: &str = "/sys/class/infiniband, /sys/bus/pci/devices";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let names: Vec<String> = facts.devices().iter().map(|device| device.name.clone()).collect();
    let idle = without_device(facts);
    let mut outcomes = Vec::new();
    if names.is_empty() {
        outcomes.push(none(facts, &idle));
    } else {
        let efa = facts.devices().iter().filter(|device| device.is_efa()).count();
        let says = format!("{}: {}.", count(names.len(), "RDMA device"), list(&names));
        outcomes.push(Outcome::right(says).seen(SEEN));
        if efa > 0 {
            let says = format!(
                "{} of EFA: it speaks SRD, neither RoCE nor InfiniBand. Captures show no traffic; counters, logs and \
                 NCCL's calls do.",
                count(efa, "device")
            );
            outcomes.push(Outcome::note(says).seen(SEEN));
        }
        if !idle.is_empty() {
            let says = format!("No RDMA device belongs to {}, which can do RDMA.", named(&idle));
            outcomes.push(Outcome::warning(says).seen(SEEN).fix(DRIVER));
        }
    }
    outcomes
}

fn none(facts: &Facts, idle: &[Idle]) -> Outcome {
    if let Err(missing) = &facts.devices
        && missing.why == Why::Denied
    {
        return Outcome::unknown(missing);
    }
    let is_container = facts.place.container.is_some();
    let has_driver = idle.iter().any(|one| one.driver.is_some());
    let because = match idle {
        [] if is_container => " This is a container: its runtime may hide them.".to_owned(),
        [] => String::new(),
        // The driver of the host has it: the container was not given the device.
        idle if is_container && has_driver => {
            format!(" The host's driver has {}; this container was not given it.", named(idle))
        }
        idle => format!(" {} could do RDMA.", named(idle)),
    };
    let says = format!("No RDMA device: NCCL sends all data over TCP sockets, or fails.{because}");
    let fix = match (idle, is_container) {
        (_, true) if idle.is_empty() || has_driver => {
            "Kubernetes: request the RDMA resource of the device plugin (rdma/..., nvidia.com/..., vpc.amazonaws.com/efa); \
             Docker: --device /dev/infiniband, --network host"
        }
        ([], _) => {
            "`lspci | grep -iE 'mellanox|infiniband|efa'`: no such NIC is in this machine, or its slot is off"
        }
        _ => DRIVER,
    };
    Outcome::critical(says).seen(SEEN).fix(fix)
}

const DRIVER: &str = "`modprobe mlx5_ib` (bnxt_re, efa); `dmesg` says why a driver refuses";

/// A NIC that can do RDMA and has no RDMA device.
struct Idle {
    address: String,
    driver: Option<String>,
}

fn named(idle: &[Idle]) -> String {
    list(&idle.iter().map(|one| one.address.clone()).collect::<Vec<_>>())
}

/// NICs that can do RDMA and have no RDMA device. Of other makers' Ethernet NICs most cannot.
fn without_device(facts: &Facts) -> Vec<Idle> {
    let Ok(pci) = &facts.pci else { return Vec::new() };
    let has_device = |address: &str| {
        facts.devices().iter().any(|device| device.function.as_deref() == Some(address))
    };
    // A container and an exclusive namespace show only what they were given.
    let is_part = !facts.devices().is_empty()
        && (facts.place.container.is_some() || facts.place.is_rdma_exclusive == Some(true));
    if is_part {
        return Vec::new();
    }
    // Of a bond's functions one has the RDMA device; a guest has those of vfio-pci.
    let interfaces = facts.interfaces.as_deref().unwrap_or_default();
    let is_bonded = |address: &str| {
        interfaces.iter().any(|one| one.bond.is_some() && one.function.as_deref() == Some(address))
    };
    let is_ours = |function: &&Function| {
        function.driver.as_deref() != Some("vfio-pci") && !is_bonded(&function.address)
    };
    let functions =
        pci.functions.values().filter(|function| function.is_network() && function.can_do_rdma());
    functions
        .filter(|function| !has_device(&function.address))
        .filter(is_ours)
        .map(|function| Idle { address: function.address.clone(), driver: function.driver.clone() })
        .collect()
}
