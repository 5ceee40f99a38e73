//! Why decoding stopped: which layer, where, how much it needed, how much there was, what truncated
//! it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The layer that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the layers' own names")]
pub enum Layer {
    Link,
    Ethernet,
    LinuxCooked,
    Loopback,
    Erf,
    Lrh,
    Grh,
    Vlan,
    Mpls,
    Ipv4,
    Ipv6,
    Ipv6Extension,
    Udp,
    Tcp,
    Gre,
    Erspan,
    Mirror,
    Vxlan,
    Geneve,
    MacControl,
    Bth,
    Rdeth,
    Deth,
    Xrceth,
    Feth,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    ImmDt,
    Ieth,
    Icrc,
    Mad,
    ConnectionManager,
}

/// Why a layer could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Limit {
    /// The capture kept too few bytes of the frame (snap length), or a mirror truncated its copy
    /// and says so: `have` < `need`.
    Snap,
    /// The frame itself ended on the wire: `have` < `need`.
    Frame,
    /// The IP header's length field ended the packet: `have` < `need`.
    IpLength,
    /// The UDP header's length field ended the datagram: `have` < `need`.
    UdpLength,
    /// A field has a value after which nothing can be read (version, header length, link type).
    HeaderField,
    /// Not the first fragment of an IP packet: it has no transport header.
    Fragment,
    /// More encapsulations than [`super::packet::DEPTH_LIMIT`].
    Depth,
}

/// A layer that was not read, and why. Small, `Copy`, without text: it is created on the hot path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// The layer that was not read.
    pub layer: Layer,
    /// Where the layer starts, in bytes from the start of the frame.
    pub offset: u32,
    /// Bytes the layer needs; 0 when `limit` is not about length.
    pub need: u32,
    /// Bytes that were there.
    pub have: u32,
    /// What truncated it.
    pub limit: Limit,
}

impl Layer {
    /// The name in counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Ethernet => "ethernet",
            Self::LinuxCooked => "linux_cooked",
            Self::Loopback => "loopback",
            Self::Erf => "erf",
            Self::Lrh => "lrh",
            Self::Grh => "grh",
            Self::Vlan => "vlan",
            Self::Mpls => "mpls",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Ipv6Extension => "ipv6_extension",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Gre => "gre",
            Self::Erspan => "erspan",
            Self::Mirror => "mirror",
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::MacControl => "mac_control",
            Self::Bth => "bth",
            Self::Rdeth => "rdeth",
            Self::Deth => "deth",
            Self::Xrceth => "xrceth",
            Self::Feth => "feth",
            Self::Reth => "reth",
            Self::AtomicEth => "atomic_eth",
            Self::Aeth => "aeth",
            Self::AtomicAckEth => "atomic_ack_eth",
            Self::ImmDt => "immdt",
            Self::Ieth => "ieth",
            Self::Icrc => "icrc",
            Self::Mad => "mad",
            Self::ConnectionManager => "connection_manager",
        }
    }
}

impl Limit {
    /// The name in counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Snap => "snap",
            Self::Frame => "frame",
            Self::IpLength => "ip_length",
            Self::UdpLength => "udp_length",
            Self::HeaderField => "header_field",
            Self::Fragment => "fragment",
            Self::Depth => "depth",
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layer, offset, need, have, limit } = self;
        write!(f, "{} at byte {offset}: {}", layer.name(), limit.name())?;
        if *need > 0 { write!(f, ", needs {need} bytes, has {have}") } else { Ok(()) }
    }
}

impl std::error::Error for DecodeError {}
