//! What libfabric offers on a node, and the graphs that NCCL searched there.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::graph::{Graph, Graphs};
use crate::model::provider::Providers;

/// One run of `fi_info`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProvidersReport {
    /// The provider that was asked for; `null` for all, or if the command is not known.
    pub asked: Option<String>,
    /// Its error, such as -61: no data available.
    pub error: Option<i32>,
    /// What it listed.
    pub endpoints: Vec<EndpointReport>,
}

/// A kind of endpoint that a provider offers on a device.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EndpointReport {
    /// The provider.
    pub provider: String,
    /// The network.
    pub fabric: Option<String>,
    /// The device.
    pub domain: Option<String>,
    /// Type of its endpoints: `FI_EP_RDM`.
    pub endpoint_type: Option<String>,
}

/// A graph of NCCL.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GraphReport {
    /// Its number: 0 is the ring, 1 the tree.
    pub id: u32,
    /// What it is for; `null` if its pattern is not known.
    pub pattern: Option<&'static str>,
    /// How many channels it has.
    pub channels: u64,
    /// Worst path between GPUs, as NCCL calls it.
    pub type_intra: Option<String>,
    /// Worst path from a GPU to a NIC.
    pub type_inter: Option<String>,
    /// Speed of a channel within the node, 10^6 bytes per second.
    pub speed_intra_mbytes_per_s: Option<u64>,
    /// Speed of a channel to other nodes, 10^6 bytes per second.
    pub speed_inter_mbytes_per_s: Option<u64>,
    /// By channel: numbers of its NICs.
    pub nics: Vec<Vec<u32>>,
}

pub(super) fn of_providers(run: &Providers) -> ProvidersReport {
    let endpoints = run.endpoints.iter().map(|one| EndpointReport {
        provider: one.provider.clone(),
        fabric: one.fabric.clone(),
        domain: one.domain.clone(),
        endpoint_type: one.kind.clone(),
    });
    ProvidersReport { asked: run.asked.clone(), error: run.error, endpoints: endpoints.collect() }
}

pub(super) fn of_graphs(graphs: &Graphs) -> Vec<GraphReport> {
    graphs.graphs.iter().map(of_graph).collect()
}

fn of_graph(graph: &Graph) -> GraphReport {
    GraphReport {
        id: graph.id,
        pattern: graph.pattern,
        channels: graph.channels.len() as u64,
        type_intra: graph.type_intra.clone(),
        type_inter: graph.type_inter.clone(),
        speed_intra_mbytes_per_s: graph.speed_intra,
        speed_inter_mbytes_per_s: graph.speed_inter,
        nics: graph.channels.iter().map(|channel| channel.nets.clone()).collect(),
    }
}
