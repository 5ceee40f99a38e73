//! Does the IOMMU translate what GPUs and NICs send each other?

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::pci::Function;
use crate::doctor::outcome::Outcome;

/// The IOMMU.
pub(super) const CHECK: Check =
    Check { name: "iommu", asks: "Does the IOMMU stay out of the way of GPUs and NICs?", judge };

const SEEN: &str = "/sys/class/iommu, /sys/bus/pci/devices/*/iommu_group/type";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let Ok(pci) = &facts.pci else { return Vec::new() };
    if facts.gpus.is_empty() || facts.devices().is_empty() {
        return Vec::new();
    }
    if !pci.has_iommu {
        return vec![Outcome::right("No IOMMU is in use.").seen(SEEN)];
    }
    let translates =
        |function: &Function| function.iommu.as_deref().is_some_and(|kind| kind.starts_with("DMA"));
    let addresses = facts.gpus.iter().map(|gpu| &gpu.function);
    let addresses =
        addresses.chain(facts.devices().iter().filter_map(|device| device.function.as_ref()));
    let functions: Vec<&Function> =
        addresses.filter_map(|address| pci.functions.get(address)).collect();
    let known = functions.iter().any(|function| function.iommu.is_some());
    let translated: Vec<String> = functions
        .iter()
        .filter(|one| translates(one))
        .map(|function| function.address.clone())
        .collect();
    if !translated.is_empty() {
        let says = format!(
            "The IOMMU translates addresses of {}: GPUDirect RDMA goes through the CPU, unless the platform is built for it (Grace).",
            list(&translated)
        );
        // Grace translates without going through the CPU.
        let is_grace = facts.software.architecture == "aarch64";
        let outcome = if is_grace { Outcome::note(says) } else { Outcome::warning(says) };
        return vec![
            outcome
                .seen(SEEN)
                .fix("boot with iommu=pt (and intel_iommu=on or amd_iommu=on), or turn it off; iommu=pt alone does not turn ACS off"),
        ];
    }
    if known {
        return vec![
            Outcome::right("The IOMMU passes addresses of NICs and GPUs through (identity).")
                .seen(SEEN),
        ];
    }
    vec![
        Outcome::unseen("Not checked: the kernel does not say which domains NICs and GPUs are in.")
            .seen(SEEN)
            .fix("`dmesg | grep -i iommu`, `cat /proc/cmdline`"),
    ]
}
