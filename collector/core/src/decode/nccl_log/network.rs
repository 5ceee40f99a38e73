//! Network selection: interfaces, HCAs, plugins that were tried, and why they were rejected.

use std::net::IpAddr;

use super::words::{assigned, assigned_word, between, leading};

/// An interface and its address: `eth0:10.0.4.51<0>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Its name in the kernel: `eth0`.
    pub name: &'a str,
    /// Its address as printed, possibly with a scope: `fe80::1%eth0`.
    pub address: &'a str,
}

/// A port of an HCA: `[0]mlx5_0:1/RoCE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hca<'a> {
    /// Device name.
    pub device: &'a str,
    /// Port number, from 1.
    pub port: u32,
    /// `RoCE` or `IB`.
    pub link_layer: &'a str,
}

/// `NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hcas<'a> {
    list: &'a str,
    /// The interface of the out-of-band exchange.
    pub oob: Option<Interface<'a>>,
}

/// `NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 ... ar=1` (2.20 and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device<'a> {
    /// Device name.
    pub name: &'a str,
    /// Mb/s.
    pub speed_mbps: Option<u32>,
    /// Whether the fabric may use adaptive routing, and so reorder packets.
    pub is_adaptive: Option<bool>,
}

/// Interfaces with their addresses: `0]eth0:10.0.4.51<0> [1]eth1:10.0.5.51<0>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interfaces<'a> {
    list: &'a str,
}

/// `NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'`, or for one GPU: `GPU Direct RDMA Disabled
/// for GPU 3[3] / HCA 0 (distance 4 >= 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuDirect<'a> {
    /// Device name, if the line has it.
    pub device: Option<&'a str>,
    /// NCCL's number of the device.
    pub number: Option<u32>,
    /// `4 >= 2`: distance and limit, where they decide.
    pub distance: Option<&'a str>,
    /// Another reason in brackets at the end (2.4).
    pub reason: Option<&'a str>,
    /// Whether data goes directly between the NIC and the GPU's memory.
    pub is_enabled: bool,
}

/// A line about plugins: `NET/Plugin: Could not find: libnccl-net.so`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plugin<'a> {
    /// Type of plugin: `NET`, `TUNER`, `PROFILER`, `GIN`, `RMA`, `ENV`.
    pub area: &'a str,
    /// What happened to it.
    pub event: PluginEvent<'a>,
}

/// What happened to a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginEvent<'a> {
    /// `NCCL_NET_PLUGIN` names its library.
    Named(&'a str),
    /// The plugin with this name was loaded.
    Loaded(&'a str),
    /// The library with this name does not exist; empty if the line does not name it.
    Missing(&'a str),
    /// The library exists but was rejected: the text.
    Failed(&'a str),
    /// NCCL's own implementation is used.
    Internal,
    /// The library has no symbol of this version; others are tried.
    Symbol(&'a str),
    /// Anything else: the text.
    Other(&'a str),
}

/// A line of aws-ofi-nccl: `NET/OFI ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ofi<'a> {
    /// `Initializing aws-ofi-nccl V`.
    Release(&'a str),
    /// `Using Libfabric version V`.
    Libfabric(&'a str),
    /// `Using transport protocol RDMA|SENDRECV`.
    Protocol(&'a str),
    /// `Selected provider is efa, fabric is efa (found 4 nics)`: the text.
    Provider(&'a str),
    /// `No eligible providers were found`.
    NoProvider,
    /// Anything else: the text.
    Other(&'a str),
}

impl<'a> Interface<'a> {
    pub(super) fn read(word: &'a str) -> Option<Self> {
        let (name, address) = word.split_once(':')?;
        let (address, _) = address.rsplit_once('<')?;
        Some(Self { name, address })
    }

    /// The address without scope.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.address.split('%').next()?.parse().ok()
    }
}

impl<'a> Interfaces<'a> {
    pub(super) fn read(list: &'a str) -> Option<Self> {
        let interfaces = Self { list };
        interfaces.iter().next().is_some().then_some(interfaces)
    }

    /// The interfaces, in the order in which NCCL uses them.
    pub fn iter(&self) -> impl Iterator<Item = Interface<'a>> {
        self.list.split_whitespace().filter_map(|word| Interface::read(word.split_once(']')?.1))
    }
}

impl<'a> Hcas<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let list = text.strip_prefix("NET/IB : Using")?;
        let (list, oob) = list.split_once("; OOB ").unwrap_or((list, ""));
        Some(Self { list, oob: Interface::read(oob) })
    }

    /// The ports, in the order of NCCL's device numbers; those of a merged NIC one by one.
    pub fn iter(&self) -> impl Iterator<Item = Hca<'a>> {
        // Merged: `[0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE}`.
        self.list.split([' ', ',', '{', '}']).filter_map(|word| {
            let (_, word) = word.rsplit_once(']').unwrap_or(("", word));
            let (place, link_layer) = word.rsplit_once('/')?;
            // Rail and plane may follow the port (2.30 and later).
            let (device, port) = place.split_once(':')?;
            Some(Hca { device, port: leading(port)?, link_layer })
        })
    }
}

impl<'a> Device<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("NET/IB: [")?.split_once("] ")?.1;
        let (name, _) = rest.split_once(':')?;
        let is_adaptive = assigned::<u8>(rest, "ar").map(|ar| ar != 0);
        Some(Self { name, speed_mbps: assigned(rest, "speed"), is_adaptive })
    }

    /// `NET/IB : Made virtual device [0] name=mlx5_0+mlx5_1 speed=800000 ndevs=2`.
    pub(super) fn read_virtual(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("NET/IB : Made virtual device ")?;
        let name = assigned_word(rest, "name")?;
        Some(Self { name, speed_mbps: assigned(rest, "speed"), is_adaptive: None })
    }
}

impl<'a> GpuDirect<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once("GPU Direct RDMA ")?;
        let (state, rest) = rest.split_once(' ')?;
        let (_, hca) = rest.split_once("HCA ")?;
        Some(Self {
            device: between(hca, "'", "'").or_else(|| {
                // RCCL and newer releases print the name without quotes.
                let word = hca.split_whitespace().next()?;
                word.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(word)
            }),
            number: leading(hca),
            distance: between(rest, "(distance ", ")"),
            reason: between(hca, " (", ")").filter(|reason| !reason.starts_with("distance ")),
            is_enabled: state == "Enabled",
        })
    }
}

impl<'a> Plugin<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let (area, rest) = text.split_once("/Plugin")?;
        let rest = rest.trim_start_matches([' ', ':']);
        area.bytes().all(|byte| byte.is_ascii_uppercase()).then_some(())?;
        Some(Self { area, event: PluginEvent::read(rest) })
    }
}

impl<'a> PluginEvent<'a> {
    fn read(text: &'a str) -> Self {
        let first = |text: &'a str| text.split_whitespace().next().unwrap_or("");
        if let Some(name) = text.strip_prefix("Plugin name set by env to ") {
            return Self::Named(name.trim());
        }
        if let Some(loaded) = text.strip_prefix("Loaded ") {
            // `net plugin NAME (v10)`: the name may have blanks.
            let name = loaded.split_once(" plugin ").map_or(loaded, |(_, name)| name);
            return Self::Loaded(name.split(" (").next().unwrap_or(name));
        }
        if let Some(name) = text.strip_prefix("Using tuner plugin ") {
            return Self::Loaded(name.trim());
        }
        if let Some(library) = text.strip_prefix("Could not find: ") {
            return Self::Missing(first(library).trim_end_matches('.'));
        }
        if let Some(rest) = text.strip_prefix("No plugin found") {
            return Self::Missing(between(rest, "(", ")").unwrap_or(""));
        }
        if let Some(rest) = text.strip_prefix("Plugin load") {
            let is_missing = rest.contains("No such file or directory");
            return if is_missing { Self::Missing(library(rest)) } else { Self::Failed(text) };
        }
        if let Some(symbol) = text.strip_prefix("Failed to find ") {
            return Self::Symbol(first(symbol));
        }
        if text.starts_with("Using internal") {
            return Self::Internal;
        }
        if text.starts_with("Failed to ") {
            return Self::Failed(text);
        }
        Self::Other(text)
    }
}

/// The library of `(libnccl-net.so) returned 2 : ...` or `... when loading libnccl-net.so`.
fn library(text: &str) -> &str {
    if let Some((_, library)) = text.rsplit_once("when loading ") {
        return library.trim();
    }
    between(text, "(", ")").unwrap_or("")
}

impl<'a> Ofi<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let text = text.strip_prefix("NET/OFI ")?;
        Some(if let Some(release) = text.strip_prefix("Initializing aws-ofi-nccl ") {
            Self::Release(release.trim_start_matches("GitHub-dev"))
        } else if let Some(release) = text.strip_prefix("Using Libfabric version ") {
            Self::Libfabric(release)
        } else if let Some(protocol) = text.strip_prefix("Using transport protocol ") {
            Self::Protocol(protocol)
        } else if let Some(provider) = strip_any_case(text, "Selected provider is ") {
            Self::Provider(provider)
        } else if text.starts_with("No eligible providers were found") {
            Self::NoProvider
        } else {
            Self::Other(text)
        })
    }
}

/// Older releases write `Selected Provider is`.
fn strip_any_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}
