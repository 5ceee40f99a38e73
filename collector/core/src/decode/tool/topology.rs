//! NCCL's topology as XML (`NCCL_TOPO_DUMP_FILE`, `NCCL_TOPO_FILE`): PCIe devices below CPUs, as in
//! NCCL 2.5 to 2.30 (`graph/xml.cc`).

use super::xml::XmlText;
use super::{Output, Taken, TakesLines};
use crate::model::node::{Distance, Distances};

/// Deepest nesting followed: a PCIe hierarchy has fewer levels of switches.
const DEPTH: usize = 32;

/// The text until `</system>`.
#[derive(Clone, Debug)]
pub(super) struct Topology(XmlText);

impl Topology {
    /// `<system version="1">`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        XmlText::begin(line, "<system", "</system>").map(Self)
    }

    /// Whether the topology stands on one line.
    pub(super) fn is_whole(&self) -> bool {
        self.0.is_whole()
    }
}

impl TakesLines for Topology {
    fn take(&mut self, line: &str) -> Taken {
        self.0.take(line)
    }

    fn finish(self) -> Option<Output> {
        let document = roxmltree::Document::parse(self.0.text()?).ok()?;
        let mut devices = Devices::default();
        devices.add(document.root_element(), &mut Vec::new());
        let to = |from: &[Device], to: &[Device]| -> Vec<Vec<Distance>> {
            from.iter().map(|one| to.iter().map(|other| one.distance(other)).collect()).collect()
        };
        let names = |devices: &[Device]| devices.iter().map(|one| one.name.clone()).collect();
        let distances = Distances {
            gpus: names(&devices.gpus),
            nics: names(&devices.nics),
            nic_numbers: devices.nics.iter().map(|one| one.number).collect(),
            to_nics: to(&devices.gpus, &devices.nics),
            to_gpus: to(&devices.gpus, &devices.gpus),
        };
        (!distances.gpus.is_empty()).then_some(Output::Distances(distances))
    }
}

/// What stands between the root and a device: the CPU, then bridges.
type Path = Vec<usize>;

struct Device {
    name: String,
    /// Of a NIC: NCCL's number.
    number: Option<u32>,
    path: Path,
}

#[derive(Default)]
struct Devices {
    gpus: Vec<Device>,
    nics: Vec<Device>,
    nodes: usize,
}

impl Devices {
    fn add(&mut self, node: roxmltree::Node<'_, '_>, path: &mut Path) {
        if path.len() > DEPTH {
            return;
        }
        for child in node.children().filter(roxmltree::Node::is_element) {
            let attribute = |name: &str| child.attribute(name).unwrap_or_default();
            // A hand-written topology has classes only; a dump has elements of their own.
            let class = attribute("class").trim_start_matches("0x");
            // Accelerators of AMD have class 0x12.
            let is_gpu = class.starts_with("03")
                || class.starts_with("12")
                || child.children().any(|inner| inner.has_tag_name("gpu"));
            let is_nic = class.starts_with("02");
            let own = |path: &Path, name: String, number: Option<u32>| Device {
                name,
                number,
                path: path.clone(),
            };
            if is_gpu {
                let number = child.descendants().find_map(|inner| {
                    inner.has_tag_name("gpu").then(|| inner.attribute("dev")).flatten()
                });
                let at = self.gpus.len().to_string();
                self.gpus.push(own(path, ["GPU", number.unwrap_or(&at)].concat(), None));
            } else if is_nic {
                let net = child.descendants().filter(|inner| inner.has_tag_name("net"));
                let named = |net: roxmltree::Node<'_, '_>| {
                    let number = net.attribute("dev").and_then(|dev| dev.parse().ok());
                    Some((net.attribute("name")?.to_owned(), number))
                };
                let mut names: Vec<(String, Option<u32>)> = net.filter_map(named).collect();
                if names.is_empty() {
                    names.push((attribute("busid").to_owned(), None));
                }
                let found: Vec<Device> =
                    names.into_iter().map(|(name, number)| own(path, name, number)).collect();
                self.nics.extend(found);
            } else {
                self.nodes = self.nodes.saturating_add(1);
                path.push(self.nodes);
                self.add(child, path);
                path.pop();
            }
        }
    }
}

impl Device {
    /// By what the two have in common: all, some bridges, the CPU only, nothing.
    fn distance(&self, other: &Self) -> Distance {
        let common = self.path.iter().zip(&other.path).take_while(|(one, two)| one == two).count();
        match common {
            _ if self.name == other.name && self.path == other.path => Distance::Same,
            0 => Distance::Sys,
            1 => Distance::Phb,
            _ if common == self.path.len() && common == other.path.len() => Distance::Pix,
            _ => Distance::Pxb,
        }
    }
}
