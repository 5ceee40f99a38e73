//! GPUs, and how their memory reaches NICs.

use super::pci::Pci;
use crate::doctor::tree::Tree;

/// A GPU.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// Address of its PCIe function.
    pub function: String,
    /// Driver that has it: `nvidia`, `amdgpu`.
    pub driver: Option<String>,
    /// Its name, if its driver reports it: `NVIDIA H100 80GB HBM3`.
    pub model: Option<String>,
}

/// The GPUs of a node, by address.
#[must_use]
pub fn read(tree: &Tree, pci: &Pci) -> Vec<Gpu> {
    let gpus = pci.functions.values().filter(|function| function.is_gpu());
    gpus.map(|function| Gpu {
        function: function.address.clone(),
        driver: function.driver.clone(),
        model: model(tree, &function.address),
    })
    .collect()
}

/// `Model:` of `/proc/driver/nvidia/gpus/ADDRESS/information`.
fn model(tree: &Tree, address: &str) -> Option<String> {
    let text = tree.text(&format!("/proc/driver/nvidia/gpus/{address}/information")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
    Some(line.trim().to_owned())
}
