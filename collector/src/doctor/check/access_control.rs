//! Do bridges send traffic between GPU and NIC up to the root complex?

use std::collections::BTreeSet;

use super::{Check, count, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::pci::Pci;
use crate::doctor::outcome::Outcome;

/// Access control services of PCIe.
pub(super) const CHECK: Check = Check {
    name: "access_control",
    asks: "Do PCIe bridges let GPUs and NICs speak directly (ACS off)?",
    judge,
};

const SEEN: &str = "/sys/bus/pci/devices/*/config (access control services)";
const FIX: &str =
    "`setpci -s BRIDGE ECAP_ACS+6.w=0000` on each after every boot, or ACS off in the BIOS";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let Ok(pci) = &facts.pci else { return Vec::new() };
    if facts.gpus.is_empty() || facts.devices().is_empty() {
        return Vec::new();
    }
    // In a virtual machine ACS must stay on: translation is then the NIC's (ATS).
    if facts.place.machine.is_some() {
        return Vec::new();
    }
    let between = between(facts, pci);
    let bridges = between.iter().filter_map(|address| pci.functions.get(*address));
    let mut redirecting = BTreeSet::new();
    let (mut read, mut unread) = (BTreeSet::new(), BTreeSet::new());
    for bridge in bridges {
        match bridge.config.redirects {
            Some(redirects) => {
                read.insert(&bridge.address);
                if redirects {
                    redirecting.insert(bridge.address.clone());
                }
            }
            None => {
                unread.insert(&bridge.address);
            }
        }
    }
    if !redirecting.is_empty() {
        let names: Vec<String> = redirecting.into_iter().collect();
        let says = format!(
            "ACS redirects requests at {}: {}. GPUDirect RDMA goes through the CPU: it hangs, or runs at a quarter to a half of the rate.",
            count(names.len(), "bridge"),
            list(&names)
        );
        return vec![Outcome::warning(says).seen(SEEN).fix(FIX)];
    }
    match (read.len(), unread.len()) {
        (0, 0) => Vec::new(),
        (_, 0) => vec![
            Outcome::right(format!(
                "{} between GPUs and NICs redirect nothing.",
                count(read.len(), "bridge")
            ))
            .seen(SEEN),
        ],
        (_, unread) => {
            let says = format!(
                "Not checked at {}: configuration space is for root only.",
                count(unread, "bridge")
            );
            vec![Outcome::unseen(says).seen(SEEN).fix("`sudo railscope doctor`, or `sudo lspci -vvv | grep ACSCtl`: no SrcValid+, no ReqRedir+")]
        }
    }
}

/// Bridges between GPUs and the NICs below the same switch. Across a host bridge all traffic goes through the CPU anyway.
fn between<'a>(facts: &'a Facts, pci: &'a Pci) -> BTreeSet<&'a str> {
    let gpus = facts.gpus.iter().filter_map(|gpu| pci.functions.get(&gpu.function));
    let nics =
        || facts.devices().iter().filter_map(|device| pci.functions.get(device.function.as_ref()?));
    let mut between = BTreeSet::new();
    for gpu in gpus {
        for nic in nics() {
            let shared = gpu.path.iter().zip(&nic.path).take_while(|(a, b)| a == b).count();
            if shared < 2 {
                continue;
            }
            for function in [gpu, nic] {
                let above = function.path.iter().filter(|part| **part != function.address);
                between.extend(above.skip(shared).map(String::as_str));
            }
        }
    }
    between
}
