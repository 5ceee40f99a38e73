//! Taps: observation points. State is kept per tap.

use serde::{Deserialize, Serialize};

/// Number of a tap in one run, in order of appearance.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct TapId(pub u32);

impl TapId {
    /// The number in another run, where tap n is `taps[n]`.
    #[must_use]
    pub fn among(self, taps: &[Self]) -> Self {
        taps.get(self.0 as usize).copied().unwrap_or(self)
    }
}

/// Format of a captured frame's first bytes (the LINKTYPE_ registry of tcpdump.org).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LinkType {
    /// LINKTYPE_ETHERNET (1).
    Ethernet,
    /// LINKTYPE_LINUX_SLL (113): what `tcpdump -i any` wrote before libpcap 1.10.
    LinuxCookedV1,
    /// LINKTYPE_LINUX_SLL2 (276): what `tcpdump -i any` writes.
    LinuxCookedV2,
    /// LINKTYPE_RAW (101), LINKTYPE_IPV4 (228), LINKTYPE_IPV6 (229) and the old DLT_RAW numbers
    /// (12, 14): the IP header comes first.
    RawIp,
    /// LINKTYPE_NULL (0): an address family in the byte order of the capturing host.
    Null,
    /// LINKTYPE_LOOP (108): an address family in network byte order.
    Loopback,
    /// LINKTYPE_INFINIBAND (247): native InfiniBand, from the local route header on.
    InfiniBand,
    /// LINKTYPE_ERF (197): records of a probe, with Ethernet or InfiniBand.
    Erf,
    /// Any other number: frames are counted, not decoded.
    Unknown(u32),
}

impl LinkType {
    /// The link type of a LINKTYPE_ number.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Null,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            108 => Self::Loopback,
            113 => Self::LinuxCookedV1,
            197 => Self::Erf,
            247 => Self::InfiniBand,
            276 => Self::LinuxCookedV2,
            other => Self::Unknown(other),
        }
    }
}

/// Where the frames of a tap come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TapFormat {
    /// A file: classic pcap, microseconds or nanoseconds.
    Pcap,
    /// A file: pcapng.
    PcapNg,
    /// A live interface of this machine: a Linux packet socket.
    AfPacket,
    /// A live interface of this machine: kernel programs at traffic control.
    Ebpf,
    /// A UDP socket of this machine that switches send sFlow to.
    Sflow,
}

impl TapFormat {
    /// Whether this machine's clock timestamps its frames: all such taps share it.
    #[must_use]
    pub const fn is_live(self) -> bool {
        match self {
            Self::Pcap | Self::PcapNg => false,
            Self::AfPacket | Self::Ebpf | Self::Sflow => true,
        }
    }
}

/// Facts about a tap before its first frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tap {
    /// The file it was read from, as the user named it; `-` for standard input. Live: the
    /// interface.
    pub file: String,
    /// Source of its frames.
    pub format: TapFormat,
    /// The interface's name (pcapng `if_name`, or live); `None` when the file does not say.
    pub interface: Option<String>,
    /// Format of its frames.
    pub link_type: LinkType,
    /// Bytes kept of each frame; `None` for no limit.
    pub snap_len: Option<u32>,
    /// Line rate in bits per second (pcapng `if_speed`); `None` when the file does not say.
    pub line_rate_bps: Option<u64>,
}

/// A name that a capture assigns to an address (pcapng name resolution block).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostName {
    /// The named address.
    pub address: std::net::IpAddr,
    /// What the capture calls it.
    pub name: String,
}
