//! May NICs read memory in large requests?

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Sizes of read requests.
pub(super) const CHECK: Check =
    Check { name: "read_request", asks: "May NICs read memory in large requests?", judge };

const SEEN: &str = "/sys/bus/pci/devices/*/config (device control of PCI Express)";
/// Below it a NIC of 200 Gb/s and more does not have enough bytes in flight.
const LARGE: u32 = 4096;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let Ok(pci) = &facts.pci else { return Vec::new() };
    // The field belongs to the physical function, which a guest does not see.
    if facts.place.machine.is_some() {
        return Vec::new();
    }
    let nics: Vec<_> = facts
        .devices()
        .iter()
        .filter_map(|device| Some((device, pci.functions.get(device.function.as_ref()?)?)))
        .collect();
    let nics: Vec<_> = nics.into_iter().filter(|(_, function)| !function.is_virtual).collect();
    if nics.is_empty() {
        return Vec::new();
    }
    let fast = |name: &str| {
        let ports = facts.active_ports().filter(|(device, _)| device.name == name);
        ports.filter_map(|(_, port)| port.rate_bps).sum::<u64>() >= 200_000_000_000
    };
    let mut small: Vec<String> = Vec::new();
    let mut read = 0;
    for (device, function) in &nics {
        let Some(bytes) = function.config.max_read_request else { continue };
        read += 1;
        if bytes < LARGE && fast(&device.name) {
            small.push(format!("{} ({bytes} bytes)", device.name));
        }
    }
    if read == 0 {
        let says =
            "Not checked: configuration space of PCIe beyond its first 64 bytes is for root only.";
        return vec![
            Outcome::unseen(says)
                .seen(SEEN)
                .fix("`sudo railscope doctor`, or `sudo lspci -vv -s ADDRESS`: MaxReadReq"),
        ];
    }
    if small.is_empty() {
        return vec![
            Outcome::right("NICs read memory in requests as large as their rate needs.").seen(SEEN),
        ];
    }
    let says = format!(
        "NICs of 200 Gb/s and more read memory in small requests: {}. Sending may stay below the line rate.",
        list(&small)
    );
    vec![Outcome::note(says).seen(SEEN).fix("`setpci -s ADDRESS CAP_EXP+8.w` shows it, its bits 14:12 = 5 are 4096 bytes; measure with `ib_write_bw` before and after")]
}
