//! The fabric of a scenario: hosts, switches, and how they treat packets.

use serde::Deserialize;

use super::quantity::{Rate, Share, Size, Time};

/// Hosts with one NIC per rail; each rail has its own leaves, and all leaves share the spines.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fabric {
    /// Number of hosts; `host0` is the first.
    pub hosts: u32,
    /// NICs of each host: `mlx5_0` is on rail 0.
    pub rails: u32,
    /// Hosts that share a leaf on each rail; the leaves of rail 0 come first.
    pub hosts_per_leaf: u32,
    /// Number of spines; each leaf has one uplink to each. 0: there is one leaf and nothing above
    /// it.
    pub spines: u32,
    /// Rate of NICs and their links.
    pub rate: Rate,
    /// Rate of links between leaves and spines.
    pub uplink_rate: Rate,
    /// One-way delay of every link.
    pub delay: Time,
    /// The same of the links to each spine, instead: one for each.
    pub uplink_delays: Vec<Time>,
    /// Whether leaves choose a spine for each packet, and NICs place packets out of order and send
    /// only lost ones again; else there is one path per queue pair, and NICs go back.
    pub spray: bool,
    /// Largest payload of a RoCE packet, bytes: 256, 512, 1024, 2048 or 4096.
    pub mtu: u32,
    /// Buffer shared by all ports of a switch.
    pub buffer: Size,
    /// When switches mark RoCE packets with CE.
    pub ecn: Ecn,
    /// When switches and NICs pause their neighbour.
    pub pfc: Pfc,
    /// Whether NICs slow down on CNPs.
    pub dcqcn: bool,
    /// The lossless, marked priority of RoCE; DSCP 26 maps to it, CNPs have priority 6.
    pub priority: u8,
}

/// When egress queues mark.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// Whether they do.
    pub enabled: bool,
    /// No marks below this length.
    pub kmin: Size,
    /// Every packet is marked above this length.
    pub kmax: Size,
    /// Share marked just below `kmax`.
    pub pmax: Share,
}

/// When ingress buffers pause their neighbour.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Whether they do.
    pub enabled: bool,
    /// Pauses above this level.
    pub xoff: Size,
    /// Resumes below this level.
    pub xon: Size,
    /// Space for packets in flight when the pause is sent.
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
            uplink_delays: Vec::new(),
            spray: false,
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
