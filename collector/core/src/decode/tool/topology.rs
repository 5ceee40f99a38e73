//! NCCL's topology as XML (`NCCL_TOPO_DUMP_FILE`, `NCCL_TOPO_FILE`): PCIe devices below CPUs, as in
//! NCCL 2.5 to 2.30 (`graph/xml.cc`).

use super::{Output, Taken, TakesLines};
use crate::model::node::{Distance, Distances};

/// Most bytes of a topology: that of 16 GPUs and 16 NICs takes 60 kB.
const BYTES: usize = 4 << 20;
/// Deepest nesting followed: a PCIe hierarchy has fewer levels of switches.
const DEPTH: usize = 32;

/// The last line.
const END: &str = "</system>";

/// The text until `</system>`.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    text: String,
}

impl Topology {
    /// `<system version="1">`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let text = line.trim_start().starts_with("<system").then(|| line.to_owned())?;
        Some(Self { text })
    }
}

impl Topology {
    /// Whether the topology stands on one line.
    pub(super) fn is_whole(&self) -> bool {
        self.text.contains(END)
    }
}

impl TakesLines for Topology {
    fn take(&mut self, line: &str) -> Taken {
        // A topology that was cut would take in what follows.
        let text = line.trim();
        let is_xml = text.is_empty()
            || text.starts_with('<')
            || ["=\"", "/>", "-->"].iter().any(|mark| text.contains(mark));
        if !is_xml || self.text.len().saturating_add(line.len()) > BYTES {
            return Taken::End;
        }
        self.text.push('\n');
        self.text.push_str(line);
        if line.contains(END) { Taken::Last } else { Taken::Yes }
    }

    fn finish(self) -> Option<Output> {
        let end = self.text.rfind(END)?.checked_add(END.len())?;
        let document = roxmltree::Document::parse(self.text.get(..end)?).ok()?;
        let mut devices = Devices::default();
        devices.add(document.root_element(), &mut Vec::new());
        let to = |from: &[Device], to: &[Device]| -> Vec<Vec<Distance>> {
            from.iter().map(|one| to.iter().map(|other| one.distance(other)).collect()).collect()
        };
        let names = |devices: &[Device]| devices.iter().map(|one| one.name.clone()).collect();
        let distances = Distances {
            gpus: names(&devices.gpus),
            nics: names(&devices.nics),
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
            let own = |path: &Path, name: String| Device { name, path: path.clone() };
            if is_gpu {
                let number = child.descendants().find_map(|inner| {
                    inner.has_tag_name("gpu").then(|| inner.attribute("dev")).flatten()
                });
                let at = self.gpus.len().to_string();
                self.gpus.push(own(path, ["GPU", number.unwrap_or(&at)].concat()));
            } else if is_nic {
                let net = child.descendants().filter(|inner| inner.has_tag_name("net"));
                let mut names: Vec<&str> = net.filter_map(|net| net.attribute("name")).collect();
                if names.is_empty() {
                    names.push(attribute("busid"));
                }
                let found: Vec<Device> =
                    names.into_iter().map(|name| own(path, name.to_owned())).collect();
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
