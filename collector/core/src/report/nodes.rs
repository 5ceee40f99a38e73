//! Nodes, as outputs of other tools describe them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::fabric::{GraphReport, ProvidersReport, of_graphs, of_providers};
use super::processes::{ListedQueuePairReport, listed};
use super::sources::Sources;
use crate::link::tool::node::Node;
use crate::model::counter::PortState;
use crate::model::node::{
    Distance, Distances, Gid, LinkLayer, Qos, RdmaPort, RoceVersion, Totals, Trust,
};

/// A node.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NodeReport {
    /// Its name; `null` if no prompt and no launcher's prefix names it: then it is what its file
    /// describes.
    pub host: Option<String>,
    /// The file of its first output.
    pub file: Option<String>,
    /// RDMA ports.
    pub ports: Vec<RdmaPortReport>,
    /// GIDs.
    pub gids: Vec<GidReport>,
    /// Queue pairs with their processes, as `rdma resource show qp` lists them.
    pub queue_pairs: Vec<ListedQueuePairReport>,
    /// Priorities and pause, by interface.
    pub qos: Vec<QosReport>,
    /// How far its GPUs are from its NICs; `null` if no output says.
    pub distances: Option<DistancesReport>,
    /// What libfabric offers, by run of `fi_info`.
    pub providers: Vec<ProvidersReport>,
    /// Graphs that NCCL searched; empty if none were dumped.
    pub graphs: Vec<GraphReport>,
    /// Counters, by NIC.
    pub totals: Vec<TotalsReport>,
}

/// The port of an RDMA device.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RdmaPortReport {
    /// The device: `mlx5_0`.
    pub device: String,
    /// Number of the port, from 1.
    pub port: u32,
    /// Its network interface.
    pub netdev: Option<String>,
    /// `down`, `initialize`, `armed`, `active` (it carries data) or `active_defer`.
    pub state: Option<&'static str>,
    /// `Ethernet` or `InfiniBand`.
    pub link_layer: Option<&'static str>,
    /// Path MTU in use, bytes of payload.
    pub active_mtu: Option<u32>,
    /// Largest path MTU of the device, bytes of payload.
    pub max_mtu: Option<u32>,
    /// Rate of its link, bits per second.
    pub rate_bps: Option<u64>,
    /// Version of the device's firmware.
    pub firmware: Option<String>,
}

/// A GID.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GidReport {
    /// The device.
    pub device: String,
    /// Number of its port.
    pub port: u32,
    /// Its place in the port's table: `NCCL_IB_GID_INDEX`.
    pub index: u32,
    /// The GID.
    pub gid: String,
    /// 1 or 2: version of RoCE; `null` on InfiniBand.
    pub roce_version: Option<u8>,
    /// Whether packets from it can be routed.
    pub is_routable: bool,
}

/// How an interface treats priorities.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QosReport {
    /// The interface; `null` if neither the output nor the command names it.
    pub interface: Option<String>,
    /// What decides the priority of a received packet: `pcp`, `dscp` or `both`.
    pub trust: Option<&'static str>,
    /// Priorities with priority flow control; `null` if not listed.
    pub pfc_priorities: Option<Vec<u8>>,
    /// Priority by DSCP, for those that were listed.
    pub dscp_priorities: BTreeMap<u8, u8>,
}

/// Distances from GPUs to NICs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DistancesReport {
    /// Names of the GPUs.
    pub gpus: Vec<String>,
    /// Names of the NICs; empty if none was listed.
    pub nics: Vec<String>,
    /// The distance within which each GPU has a NIC, if that is `PHB` or nearer.
    pub each_gpu_within: Option<&'static str>,
    /// By GPU, by NIC: `PIX`, `PXB`, `PHB`, `NODE` or `SYS`, as `nvidia-smi topo -m` calls it.
    pub to_nics: Vec<Vec<&'static str>>,
}

/// Counters of a NIC, as one or two readings show them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TotalsReport {
    /// RDMA device or network interface; `null` if neither the output nor the command names it.
    pub device: Option<String>,
    /// Port of the RDMA device.
    pub port: Option<u32>,
    /// What counters counted, by the driver's names: since boot, or between two readings; those that
    /// counted nothing are left out.
    pub counted: BTreeMap<String, u64>,
    /// There were two readings.
    pub is_read_twice: bool,
    /// How many counters were read.
    pub counters: u64,
}

/// The nodes in the order of their first output.
pub(super) fn section(sources: &Sources<'_>) -> Vec<NodeReport> {
    sources.state.nodes.iter().map(|node| of_node(sources, node)).collect()
}

fn of_node(sources: &Sources<'_>, node: &Node) -> NodeReport {
    NodeReport {
        host: node.host.clone(),
        file: sources.log_name(node.log),
        ports: node.ports.iter().map(|said| of_port(&said.value)).collect(),
        gids: node.gids.iter().map(|said| of_gid(&said.value)).collect(),
        queue_pairs: node.queue_pairs.iter().map(listed).collect(),
        qos: node.qos.iter().map(|said| of_qos(&said.value)).collect(),
        distances: node.distances.as_ref().map(|said| of_distances(&said.value)),
        providers: node.providers.iter().map(|said| of_providers(&said.value)).collect(),
        graphs: node.graphs.as_ref().map_or_else(Vec::new, |said| of_graphs(&said.value)),
        totals: node.totals.iter().map(|said| of_totals(&said.value)).collect(),
    }
}

fn of_port(port: &RdmaPort) -> RdmaPortReport {
    RdmaPortReport {
        device: port.device.clone(),
        port: port.number,
        netdev: port.netdev.clone(),
        state: port.state.map(PortState::name),
        link_layer: port.link_layer.map(LinkLayer::name),
        active_mtu: port.active_mtu,
        max_mtu: port.max_mtu,
        rate_bps: port.rate_bps,
        firmware: port.firmware.clone(),
    }
}

fn of_gid(gid: &Gid) -> GidReport {
    GidReport {
        device: gid.device.clone(),
        port: gid.port,
        index: gid.index,
        gid: gid.gid.to_string(),
        roce_version: gid.version.map(|version| match version {
            RoceVersion::V1 => 1,
            RoceVersion::V2 => 2,
        }),
        is_routable: gid.is_routable(),
    }
}

fn of_qos(qos: &Qos) -> QosReport {
    QosReport {
        interface: qos.interface.clone(),
        trust: qos.trust.map(Trust::name),
        pfc_priorities: qos.pfc.map(|pfc| {
            (0..).zip(pfc).filter(|(_, is_on)| *is_on).map(|(priority, _)| priority).collect()
        }),
        dscp_priorities: qos.dscp.iter().copied().collect(),
    }
}

fn of_distances(known: &Distances) -> DistancesReport {
    let names = |row: &Vec<_>| row.iter().map(|one: &Distance| one.name()).collect();
    DistancesReport {
        gpus: known.gpus.clone(),
        nics: known.nics.clone(),
        each_gpu_within: each_gpu_within(known).map(Distance::name),
        to_nics: known.to_nics.iter().map(names).collect(),
    }
}

fn each_gpu_within(known: &Distances) -> Option<Distance> {
    let nearest: Option<Vec<Distance>> =
        known.to_nics.iter().map(|row| row.iter().min().copied()).collect();
    nearest?.into_iter().max().filter(|distance| *distance <= Distance::Phb)
}

fn of_totals(totals: &Totals) -> TotalsReport {
    TotalsReport {
        device: totals.device.clone(),
        port: totals.port,
        counted: totals.moved(|_| true).into_iter().collect(),
        is_read_twice: totals.before.is_some(),
        counters: totals.values.len() as u64,
    }
}
