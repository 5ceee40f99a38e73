//! The fabric of a scenario: hosts, switches, and how they treat packets.

use serde::Deserialize;

use super::quantity::{Rate, Share, Size, Time};

/// Hosts with one NIC a rail; each rail has leaves of its own, all leaves share the spines.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fabric {
    /// How many; `host0` is the first.
    pub hosts: u32,
    /// NICs of each host: `mlx5_0` is on rail 0.
    pub rails: u32,
    /// Hosts that share a leaf on each rail; the leaves of rail 0 come first.
    pub hosts_per_leaf: u32,
    /// Each leaf has one uplink to each; 0: there is one leaf and nothing above it.
    pub spines: u32,
    /// Of NICs and their links.
    pub rate: Rate,
    /// Of links between leaves and spines.
    pub uplink_rate: Rate,
    /// Of every link, one way.
    pub delay: Time,
    /// Largest payload of a RoCE packet, bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// Shared by all ports of a switch.
    pub buffer: Size,
    /// Switches mark packets of RoCE with CE where queues are long.
    pub ecn: Ecn,
    /// Switches and NICs stop their neighbour before they drop.
    pub pfc: Pfc,
    /// NICs slow down where packets were marked.
    pub dcqcn: bool,
    /// The priority of RoCE is lossless and marked; DSCP 26 goes there, CNPs have priority 6.
    pub priority: u8,
}

/// When egress queues mark.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// Whether they do.
    pub enabled: bool,
    /// None below.
    pub kmin: Size,
    /// All above.
    pub kmax: Size,
    /// Share marked just below `kmax`.
    pub pmax: Share,
}

/// When ingress queues stop their neighbour.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Whether they do.
    pub enabled: bool,
    /// It stops above.
    pub xoff: Size,
    /// It goes on below.
    pub xon: Size,
    /// Room for what is on its way while the neighbour stops.
    pub headroom: Size,
}

impl Default for Fabric {
    fn default() -> Self {
        Self {
            hosts: 4,
            rails: 1,
            hosts_per_leaf: 2,
            spines: 2,
            rate: Rate(10_000_000_000),
            uplink_rate: Rate(10_000_000_000),
            delay: Time(500),
            mtu: 4096,
            buffer: Size(16 << 20),
            ecn: Ecn::default(),
            pfc: Pfc::default(),
            dcqcn: true,
            priority: 3,
        }
    }
}

impl Default for Ecn {
    fn default() -> Self {
        Self { enabled: true, kmin: Size(150_000), kmax: Size(1_500_000), pmax: Share(0.1) }
    }
}

impl Default for Pfc {
    fn default() -> Self {
        Self { enabled: true, xoff: Size(600_000), xon: Size(500_000), headroom: Size(200_000) }
    }
}
