//! CPUs: frequency, isolation, memory between NUMA nodes.

use crate::doctor::tree::Tree;

/// The CPUs of a node.
#[derive(Clone, Debug, Default)]
pub struct Processor {
    /// How frequencies are chosen, with how many CPUs choose so.
    pub governors: Vec<(String, usize)>,
    /// CPUs that the scheduler leaves alone (`isolcpus`).
    pub isolated: Option<String>,
    /// NUMA nodes with CPUs.
    pub numa_nodes: usize,
    /// Whether the kernel moves memory between nodes by itself.
    pub is_numa_balancing: Option<bool>,
    /// Options of the kernel's command line.
    pub options: Vec<String>,
}

impl Processor {
    pub(super) fn read(tree: &Tree) -> Self {
        let names = tree.names("/sys/devices/system/cpu").unwrap_or_default();
        let cpus = names
            .iter()
            .filter(|name| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok()));
        let mut governors: Vec<(String, usize)> = Vec::new();
        for cpu in cpus {
            let file = format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor");
            let Ok(governor) = tree.text(&file) else { continue };
            match governors.iter_mut().find(|(known, _)| *known == governor) {
                Some((_, count)) => *count += 1,
                None => governors.push((governor, 1)),
            }
        }
        let nodes = tree.names("/sys/devices/system/node").unwrap_or_default();
        let numa_nodes = nodes
            .iter()
            .filter(|name| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok()));
        let options = tree.text("/proc/cmdline").unwrap_or_default();
        Self {
            governors,
            isolated: tree
                .text("/sys/devices/system/cpu/isolated")
                .ok()
                .filter(|list| !list.is_empty()),
            numa_nodes: numa_nodes.count(),
            is_numa_balancing: tree
                .number("/proc/sys/kernel/numa_balancing")
                .ok()
                .map(|mode| mode != 0),
            options: options.split_whitespace().map(str::to_owned).collect(),
        }
    }
}
