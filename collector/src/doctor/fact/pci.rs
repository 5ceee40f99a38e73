//! PCIe functions of NICs and GPUs, and the bridges above them, from sysfs
//! (Documentation/ABI/testing/sysfs-bus-pci) and configuration space (PCI Express Base Specification 6.0).

use std::collections::BTreeMap;

use crate::doctor::tree::{Known, Tree};
use railscope_core::model::node::Distance;

/// Most functions of a node: large ones have a thousand.
const FUNCTION_LIMIT: usize = 4_096;

/// The functions that matter, and what lies above them.
#[derive(Clone, Debug, Default)]
pub struct Pci {
    /// NICs, GPUs and the bridges above them, by address.
    pub functions: BTreeMap<String, Function>,
    /// Whether the kernel translates addresses of devices: an IOMMU is in use.
    pub has_iommu: bool,
}

/// A PCIe function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// `0000:1a:00.0`.
    pub address: String,
    /// Vendor's number: `0x15b3` is NVIDIA's for networks.
    pub vendor: u64,
    /// Vendor's number of the device.
    pub device: u64,
    /// Class: `0x0200` Ethernet, `0x0207` InfiniBand, `0x03` display, `0x0604` bridge; upper 16 bits of 24.
    pub class: u64,
    /// Driver that has it.
    pub driver: Option<String>,
    /// The NUMA node that it hangs on; `None` if the firmware does not say.
    pub numa: Option<u32>,
    /// Link now, and the best that it can do.
    pub link: Option<Link>,
    /// Kind of its IOMMU domain: `identity`, `DMA`, `DMA-FQ`.
    pub iommu: Option<String>,
    /// Functions and buses from the root complex down to it.
    pub path: Vec<String>,
    /// Whether it is a virtual function (SR-IOV).
    pub is_virtual: bool,
    /// What its configuration space says: root reads more than the first 64 bytes.
    pub config: ConfigSpace,
}

/// What configuration space says, as far as it could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfigSpace {
    /// Bytes of the largest read request.
    pub max_read_request: Option<u32>,
    /// Whether relaxed ordering is allowed.
    pub relaxed_ordering: Option<bool>,
    /// Whether access control services send traffic between devices up to the root complex: of bridges.
    pub redirects: Option<bool>,
}

/// A link's speed and width.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Billions of transfers a second and lane.
    pub speed: f64,
    /// Lanes.
    pub width: u32,
    /// The fastest that the function can do.
    pub max_speed: f64,
    /// The most lanes that it has.
    pub max_width: u32,
}

impl Link {
    /// Bits per second that it carries each way, after its line code.
    #[must_use]
    pub fn bits_per_second(&self) -> f64 {
        // 8b/10b up to 5 GT/s, 128b/130b after it; 6.0 has FLITs of 242 bytes of 256 (PCIe 6.0).
        let share = match self.speed {
            speed if speed <= 5.0 => 0.8,
            speed if speed <= 32.0 => 128.0 / 130.0,
            _ => 242.0 / 256.0,
        };
        self.speed * 1e9 * f64::from(self.width) * share
    }
}

impl Function {
    /// Whether it is a network card.
    #[must_use]
    pub const fn is_network(&self) -> bool {
        self.class >> 8 == 0x02
    }

    /// Whether every NIC of its kind can do RDMA: NVIDIA's from ConnectX-4 on, and EFA. Of other makers' some can.
    #[must_use]
    pub const fn can_do_rdma(&self) -> bool {
        matches!((self.vendor, self.device), (0x15b3, 0x1013..) | (0x1d0f, 0xefa0..=0xefaf))
    }

    /// Whether it is a GPU: a display or 3D controller, or a processing accelerator, of NVIDIA or AMD.
    #[must_use]
    pub const fn is_gpu(&self) -> bool {
        let is_maker = matches!(self.vendor, 0x10de | 0x1002);
        // Displays of baseboards are of other makers; AMD's accelerators are of class 0x1200.
        is_maker && matches!(self.class, 0x0302 | 0x0300 | 0x0380 | 0x1200)
    }
}

impl Pci {
    /// Reads the functions of a node.
    ///
    /// # Errors
    ///
    /// When sysfs does not list them.
    pub fn read(tree: &Tree) -> Known<Self> {
        let names = tree.names("/sys/bus/pci/devices")?;
        let mut functions = BTreeMap::new();
        for name in names.iter().take(FUNCTION_LIMIT) {
            let class =
                tree.number(&format!("/sys/bus/pci/devices/{name}/class")).unwrap_or(0) >> 8;
            let mut function = Function { address: name.clone(), class, ..Function::default() };
            function.vendor =
                tree.number(&format!("/sys/bus/pci/devices/{name}/vendor")).unwrap_or(0);
            if function.is_network() || function.is_gpu() {
                let function = function.read(tree);
                // What is above it.
                for bridge in function.path.iter().filter(|part| is_address(part) && *part != name)
                {
                    if !functions.contains_key(bridge) {
                        let above = Function { address: bridge.clone(), ..Function::default() };
                        functions.insert(bridge.clone(), above.read(tree));
                    }
                }
                functions.insert(name.clone(), function);
            }
        }
        let has_iommu = tree.names("/sys/class/iommu").is_ok_and(|names| !names.is_empty());
        Ok(Self { functions, has_iommu })
    }

    /// The bridges above a function, from the root complex down.
    pub fn bridges<'a>(&'a self, function: &'a Function) -> impl Iterator<Item = &'a Function> {
        let above = function.path.iter().filter(|part| **part != function.address);
        above.filter_map(|part| self.functions.get(part))
    }

    /// How far two functions are from each other, as `nvidia-smi topo -m` calls it.
    #[must_use]
    pub fn distance(a: &Function, b: &Function) -> Option<Distance> {
        if a.path.is_empty() || b.path.is_empty() {
            return None;
        }
        let shared = a.path.iter().zip(&b.path).take_while(|(a, b)| a == b).count();
        // The root bus is the first part that counts: `pci0000:15`.
        if shared == 0 {
            return Some(match (a.numa, b.numa) {
                (Some(a), Some(b)) if a == b => Distance::Node,
                _ => Distance::Sys,
            });
        }
        if shared == 1 {
            return Some(Distance::Phb);
        }
        // Below the switch that both share: its port, then the device; more is another switch.
        let below = |function: &Function| function.path.len().saturating_sub(shared);
        Some(if below(a) <= 2 && below(b) <= 2 { Distance::Pix } else { Distance::Pxb })
    }
}

impl Function {
    fn read(mut self, tree: &Tree) -> Self {
        let at = format!("/sys/bus/pci/devices/{}", self.address);
        let text = |file: &str| tree.text(&format!("{at}/{file}")).ok();
        let number = |file: &str| tree.number(&format!("{at}/{file}")).ok();
        self.vendor = number("vendor").unwrap_or(0);
        self.device = number("device").unwrap_or(0);
        self.class = number("class").unwrap_or(0) >> 8;
        self.driver = tree.link_name(&format!("{at}/driver"));
        // -1: the firmware does not say.
        self.numa = number("numa_node").and_then(|node| u32::try_from(node).ok());
        self.link = link(&text);
        self.iommu = text("iommu_group/type");
        let parts = tree.real_parts(&at);
        self.path = parts.into_iter().skip_while(|part| !part.starts_with("pci")).collect();
        self.is_virtual = tree.has(&format!("{at}/physfn"));
        self.config = tree
            .bytes(&format!("{at}/config"))
            .map(|bytes| config_space(&bytes))
            .unwrap_or_default();
        self
    }
}

fn is_address(part: &str) -> bool {
    part.matches(':').count() == 2
}

/// `8.0 GT/s PCIe`, and `255` or `Unknown` where there is no link.
fn link(text: &impl Fn(&str) -> Option<String>) -> Option<Link> {
    let speed = |file: &str| text(file)?.split_whitespace().next()?.parse::<f64>().ok();
    let width =
        |file: &str| text(file)?.parse::<u32>().ok().filter(|width| (1..=32).contains(width));
    Some(Link {
        speed: speed("current_link_speed")?,
        width: width("current_link_width")?,
        max_speed: speed("max_link_speed")?,
        max_width: width("max_link_width")?,
    })
}

/// Capabilities are a list in the first 256 bytes, extended ones a list from 256 on.
fn config_space(config: &[u8]) -> ConfigSpace {
    let byte = |at: usize| config.get(at).copied();
    let word = |at: usize| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
    let mut found = ConfigSpace::default();
    // PCI Express capability (7.5.3): number 0x10; device control at 8.
    let mut at = byte(0x34).map_or(0, usize::from) & !3;
    for _ in 0..48 {
        let (Some(number), Some(next)) = (byte(at), byte(at + 1)) else { break };
        if at < 0x40 {
            break;
        }
        if let (0x10, Some(control)) = (number, word(at + 8)) {
            found.max_read_request = Some(128 << (control >> 12 & 7));
            found.relaxed_ordering = Some(control >> 4 & 1 == 1);
        }
        at = usize::from(next) & !3;
    }
    // Access control services (7.7.11): number 0x0d; control at 6: request redirect, completion redirect.
    let mut at = 0x100;
    for _ in 0..96 {
        let (Some(number), Some(rest)) = (word(at), word(at + 2)) else { break };
        if number == 0x0d {
            found.redirects = word(at + 6).map(|control| control >> 2 & 3 != 0);
        }
        at = usize::from(rest >> 4) & !3;
        if at < 0x100 {
            break;
        }
    }
    // Without the capability nothing redirects.
    if config.len() >= 0x1000 && found.redirects.is_none() {
        found.redirects = Some(false);
    }
    found
}

#[cfg(test)]
mod tests;
