//! Do bridges send traffic between GPU and NIC up to the root complex?

use std::collections::BTreeSet;

use super::{Check, count, list};
use crate::doctor::fact::Facts;
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
    let addresses = facts.gpus.iter().map(|gpu| &gpu.function);
    let addresses =
        addresses.chain(facts.devices().iter().filter_map(|device| device.function.as_ref()));
    let functions: Vec<_> = addresses.filter_map(|address| pci.functions.get(address)).collect();
    let bridges = functions.iter().flat_map(|function| pci.bridges(function));
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
                "{} above GPUs and NICs redirect nothing.",
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
