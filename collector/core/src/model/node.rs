//! What a node is and how it is set up: RDMA ports, GIDs, quality of service, and how far GPUs are
//! from NICs.

use std::net::Ipv6Addr;

use super::counter::PortState;

/// The port of an RDMA device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RdmaPort {
    /// The device: `mlx5_0`.
    pub device: String,
    /// Number of the port, from 1.
    pub number: u32,
    /// Its network interface.
    pub netdev: Option<String>,
    /// State of its link.
    pub state: Option<PortState>,
    /// The state is that of its network interface, which the tool shows instead.
    pub is_state_of_netdev: bool,
    /// What it speaks.
    pub link_layer: Option<LinkLayer>,
    /// Path MTU in use, bytes of payload: 256, 512, 1024, 2048 or 4096.
    pub active_mtu: Option<u32>,
    /// Largest path MTU of the device, bytes of payload.
    pub max_mtu: Option<u32>,
    /// Rate of its link, bits per second.
    pub rate_bps: Option<u64>,
    /// Version of the device's firmware.
    pub firmware: Option<String>,
    /// What the device is, as its tool calls it: `MT4129`, `MT_0000000838`.
    pub model: Option<String>,
}

/// What a port speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkLayer {
    /// RoCE.
    Ethernet,
    /// Native InfiniBand.
    InfiniBand,
}

/// A GID of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gid {
    /// The device.
    pub device: String,
    /// Number of its port, from 1.
    pub port: u32,
    /// Its place in the port's table: `NCCL_IB_GID_INDEX`.
    pub index: u32,
    /// The GID itself.
    pub gid: Ipv6Addr,
    /// Type of packets sent from it; `None` on InfiniBand.
    pub version: Option<RoceVersion>,
    /// The network interface that it belongs to.
    pub netdev: Option<String>,
}

/// Version of RoCE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoceVersion {
    /// Over Ethernet alone: not routable.
    V1,
    /// Over UDP and IP.
    V2,
}

/// How an interface treats priorities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qos {
    /// The interface, if the output or the command before it names it.
    pub interface: Option<String>,
    /// What decides the priority of a received packet.
    pub trust: Option<Trust>,
    /// Whether priority flow control is on, by priority.
    pub pfc: Option<[bool; 8]>,
    /// Priorities of DSCPs, for those that were listed.
    pub dscp: Vec<(u8, u8)>,
}

/// What decides the priority of a received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// The PCP of its VLAN tag.
    Pcp,
    /// Its DSCP.
    Dscp,
    /// Both.
    Both,
}

/// How a GPU reaches a NIC or another GPU, nearest first (`nvidia-smi topo -m`, NCCL `topo.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same device.
    Same,
    /// This many NVLinks.
    NvLink(u32),
    /// One PCIe switch.
    Pix,
    /// Several PCIe switches, no host bridge.
    Pxb,
    /// A PCIe host bridge, typically the CPU.
    Phb,
    /// Host bridges of one NUMA node.
    Node,
    /// The interconnect between NUMA nodes.
    Sys,
}

/// Distances of the GPUs of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// Names of the GPUs: `GPU0`.
    pub gpus: Vec<String>,
    /// Names of the NICs: `mlx5_0`, or `NIC0` without a legend; empty if none was listed.
    pub nics: Vec<String>,
    /// By NIC: NCCL's number of it (`net dev`), where a topology of NCCL names it.
    pub nic_numbers: Vec<Option<u32>>,
    /// By GPU: its distance to each NIC.
    pub to_nics: Vec<Vec<Distance>>,
    /// By GPU: its distance to each GPU.
    pub to_gpus: Vec<Vec<Distance>>,
}

/// Counters of a NIC. They count since boot or reset: one reading shows no rise, a second one does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// RDMA device or network interface, if the output or the command before it names it.
    pub device: Option<String>,
    /// Port of the RDMA device.
    pub port: Option<u32>,
    /// Values by the driver's names, in the order of the output; of the later reading if there are
    /// two.
    pub values: Vec<(String, u64)>,
    /// The values of the reading before it.
    pub before: Option<Vec<(String, u64)>>,
}

impl Gid {
    /// Whether packets from it can be routed: RoCE v2 from an address that is not link-local.
    #[must_use]
    pub fn is_routable(&self) -> bool {
        self.version == Some(RoceVersion::V2)
            && !self.gid.is_unicast_link_local()
            && !self.gid.is_unspecified()
            && self.gid.to_ipv4_mapped().is_none_or(|address| !address.is_link_local())
    }
}

impl Totals {
    /// What the counter with this name counted: between two readings, or since boot.
    #[must_use]
    pub fn counted(&self, name: &str) -> Option<u64> {
        let last = value(&self.values, name)?;
        match &self.before {
            // After a reset, all that it counts is new.
            Some(before) => Some(last.checked_sub(value(before, name)?).unwrap_or(last)),
            None => Some(last),
        }
    }

    /// The counters that counted something and whose name `is_wanted`.
    #[must_use]
    pub fn moved(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, u64)> {
        let wanted = self.values.iter().filter(|(name, _)| is_wanted(name));
        let counted = wanted.filter_map(|(name, _)| Some((name.clone(), self.counted(name)?)));
        counted.filter(|(_, count)| *count > 0).collect()
    }

    /// `mlx5_0`, `mlx5_0 port 2`, `eth0`.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let mut name = self.device.clone()?;
        if let Some(port) = self.port.filter(|port| *port != 1) {
            name.push_str(" port ");
            name.push_str(&port.to_string());
        }
        Some(name)
    }
}

fn value(values: &[(String, u64)], name: &str) -> Option<u64> {
    values.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
}

impl Distance {
    /// The distance that `nvidia-smi topo -m` and NCCL's topology call so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "X" => Some(Self::Same),
            "PIX" => Some(Self::Pix),
            "PXB" | "PXN" => Some(Self::Pxb),
            "PHB" => Some(Self::Phb),
            "NODE" => Some(Self::Node),
            "SYS" => Some(Self::Sys),
            _ => name.strip_prefix("NV")?.parse().ok().map(Self::NvLink),
        }
    }

    /// The name in reports: that of `nvidia-smi topo -m`, without the number of links.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "X",
            Self::NvLink(_) => "NV",
            Self::Pix => "PIX",
            Self::Pxb => "PXB",
            Self::Phb => "PHB",
            Self::Node => "NODE",
            Self::Sys => "SYS",
        }
    }
}

impl LinkLayer {
    /// The link layer with this name, of whatever case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            _ if name.eq_ignore_ascii_case("ethernet") => Some(Self::Ethernet),
            _ if name.eq_ignore_ascii_case("infiniband") => Some(Self::InfiniBand),
            _ => None,
        }
    }

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::InfiniBand => "InfiniBand",
        }
    }
}

impl Trust {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcp => "pcp",
            Self::Dscp => "dscp",
            Self::Both => "both",
        }
    }
}
