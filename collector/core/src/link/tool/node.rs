//! What several tools say of one node, joined.

use std::collections::{BTreeMap, BTreeSet};

use super::Found;
use crate::decode::tool::Output;
use crate::model::graph::Graphs;
use crate::model::node::{Distances, Gid, LinkLayer, Qos, RdmaPort, RoceVersion, Totals};
use crate::model::provider::Providers;
use crate::model::qpn::Qpn;
use crate::model::queue_pair::ListedQueuePair;
use crate::model::witness::{LogId, Witness};

/// Something that an output says, and the line where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<T> {
    /// What it says.
    pub value: T,
    /// The first line of the output.
    pub witness: Witness,
    /// That line's text.
    pub quote: String,
}

/// A node, as the outputs of its tools describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name, if a prompt or a launcher's prefix names it.
    pub host: Option<String>,
    /// Its file, where no name is known: a paste without a name is of one node.
    pub log: LogId,
    /// RDMA ports, by device and number.
    pub ports: Vec<Said<RdmaPort>>,
    /// GIDs, in the order of the output.
    pub gids: Vec<Said<Gid>>,
    /// Queue pairs that the kernel listed, each as the last list has it.
    pub queue_pairs: Vec<ListedQueuePair>,
    /// Quality of service, by interface.
    pub qos: Vec<Said<Qos>>,
    /// How far GPUs are from NICs.
    pub distances: Option<Said<Distances>>,
    /// Providers of libfabric, by run of `fi_info`.
    pub providers: Vec<Said<Providers>>,
    /// NCCL's graphs.
    pub graphs: Option<Said<Graphs>>,
    /// Counters since boot.
    pub totals: Vec<Said<Totals>>,
    /// Places of ports by device and number, of named interfaces, and of counters of known devices.
    port_places: BTreeMap<(String, u32), usize>,
    qos_places: BTreeMap<String, usize>,
    queue_pair_places: BTreeMap<(String, Qpn, Option<Qpn>), usize>,
    totals_places: BTreeMap<Reading, usize>,
    /// Ports with a GID of RoCE v2: `show_gids` calls GIDs of InfiniBand v1, too.
    roce_ports: BTreeSet<(String, u32)>,
}

/// Device, port and first name: the same in another reading of the same counters.
type Reading = (String, Option<u32>, String);

/// The nodes that outputs describe, in the order of their first output.
#[must_use]
pub fn nodes(found: &[Found]) -> Vec<Node> {
    let mut places: BTreeMap<(Option<&str>, Option<LogId>), usize> = BTreeMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    for one in found {
        if matches!(one.output, Output::Benchmark(_) | Output::Inspector(_) | Output::Switch(_)) {
            continue;
        }
        let key = (one.host.as_deref(), one.host.is_none().then_some(one.log));
        let at = *places.entry(key).or_insert_with(|| {
            nodes.push(Node { host: one.host.clone(), log: one.log, ..Node::default() });
            nodes.len() - 1
        });
        if let Some(node) = nodes.get_mut(at) {
            node.add(one);
        }
    }
    nodes
}

impl Node {
    fn add(&mut self, one: &Found) {
        match &one.output {
            Output::Ports(ports, gids) => {
                ports.iter().for_each(|port| self.port(port, one));
                gids.iter().for_each(|gid| self.gid(gid, one));
            }
            Output::Gids(gids) => gids.iter().for_each(|gid| self.gid(gid, one)),
            Output::QueuePairs(pairs) => pairs.iter().for_each(|pair| self.queue_pair(pair)),
            Output::Qos(qos) => self.qos(qos, one),
            Output::Distances(distances) => self.distances = Some(said(distances, one)),
            Output::Providers(providers) => self.providers.push(said(providers, one)),
            Output::Graphs(graphs) => self.graphs = Some(said(graphs, one)),
            Output::Totals(totals) => self.totals(totals, one),
            Output::Benchmark(_) | Output::Inspector(_) | Output::Switch(_) => {}
        }
    }

    /// Tools report different things of one port.
    fn port(&mut self, port: &RdmaPort, one: &Found) {
        let key = (port.device.clone(), port.number);
        let Some(known) = self.port_places.get(&key).and_then(|at| self.ports.get_mut(*at)) else {
            self.port_places.insert(key, self.ports.len());
            self.ports.push(said(port, one));
            return;
        };
        let known = &mut known.value;
        known.netdev = known.netdev.take().or_else(|| port.netdev.clone());
        // What a tool says of the port itself counts for more, and what comes later for more.
        if port.state.is_some() && (known.is_state_of_netdev || !port.is_state_of_netdev) {
            known.state = port.state;
            known.is_state_of_netdev = port.is_state_of_netdev;
        }
        known.link_layer = known.link_layer.or(port.link_layer);
        known.active_mtu = known.active_mtu.or(port.active_mtu);
        known.max_mtu = known.max_mtu.or(port.max_mtu);
        known.rate_bps = known.rate_bps.or(port.rate_bps);
        known.model = known.model.take().or_else(|| port.model.clone());
        known.firmware = known.firmware.take().or_else(|| port.firmware.clone());
    }

    fn gid(&mut self, gid: &Gid, one: &Found) {
        if gid.version == Some(RoceVersion::V2) {
            self.roce_ports.insert((gid.device.clone(), gid.port));
        }
        self.gids.push(said(gid, one));
    }

    /// A later list has the later state.
    fn queue_pair(&mut self, listed: &ListedQueuePair) {
        let pair = &listed.pair;
        let key = (pair.device.clone(), pair.local, pair.remote);
        match self.queue_pair_places.get(&key).and_then(|at| self.queue_pairs.get_mut(*at)) {
            Some(known) => *known = listed.clone(),
            None => {
                self.queue_pair_places.insert(key, self.queue_pairs.len());
                self.queue_pairs.push(listed.clone());
            }
        }
    }

    /// The same counters again show what they counted in between.
    fn totals(&mut self, totals: &Totals, one: &Found) {
        let first_name = totals.values.first().map(|(name, _)| name.clone());
        let key = totals.device.clone().zip(first_name);
        let key = key.map(|(device, name)| (device, totals.port, name));
        let place = key.as_ref().and_then(|key| self.totals_places.get(key));
        let mut later = said(totals, one);
        if let Some(known) = place.and_then(|at| self.totals.get_mut(*at)) {
            let first = known.value.before.take();
            later.value.before = first.or_else(|| Some(std::mem::take(&mut known.value.values)));
            *known = later;
            return;
        }
        self.totals_places.extend(key.map(|key| (key, self.totals.len())));
        self.totals.push(later);
    }

    /// `dcb` prints trust and PFC in outputs of their own.
    fn qos(&mut self, qos: &Qos, one: &Found) {
        // Of an interface without a name, the output before this one may have the other half.
        let is_other_half = |known: &Said<Qos>| {
            let known = &known.value;
            known.interface.is_none()
                && (known.trust.is_none() || qos.trust.is_none())
                && (known.pfc.is_none() || qos.pfc.is_none())
        };
        let last = self.qos.len().checked_sub(1);
        let place = match &qos.interface {
            // Of a named one, the later output counts.
            Some(interface) => self.qos_places.get(interface).copied(),
            None => last.filter(|at| self.qos.get(*at).is_some_and(is_other_half)),
        };
        match place.and_then(|at| self.qos.get_mut(at)) {
            Some(known) => {
                let known = &mut known.value;
                known.trust = qos.trust.or(known.trust);
                known.pfc = qos.pfc.or(known.pfc);
                known.dscp.extend(&qos.dscp);
            }
            None => {
                let interface = qos.interface.clone();
                self.qos_places.extend(interface.map(|name| (name, self.qos.len())));
                self.qos.push(said(qos, one));
            }
        }
    }

    /// Its counters, each with the NIC's name: `mlx5_0`, `host1: mlx5_0`.
    pub fn totals_by_name(&self) -> impl Iterator<Item = (Option<String>, &Said<Totals>)> {
        self.totals.iter().map(|said| {
            let parts = [self.host.clone(), said.value.name()];
            let known: Vec<String> = parts.into_iter().flatten().collect();
            ((!known.is_empty()).then(|| known.join(": ")), said)
        })
    }

    /// A port.
    #[must_use]
    pub fn port_of(&self, device: &str, number: u32) -> Option<&RdmaPort> {
        let at = self.port_places.get(&(device.to_owned(), number))?;
        self.ports.get(*at).map(|said| &said.value)
    }

    /// What a port speaks: as a tool says, as its GIDs show, or as its network interface is named,
    /// which for IPoIB begins with `ib` (systemd.net-naming-scheme(7)).
    #[must_use]
    pub fn link_layer(&self, port: &RdmaPort) -> Option<LinkLayer> {
        let is_roce = self.roce_ports.contains(&(port.device.clone(), port.number));
        let by_gid = || is_roce.then_some(LinkLayer::Ethernet);
        let by_name = || match port.netdev.as_deref()?.starts_with("ib") {
            true => Some(LinkLayer::InfiniBand),
            false => Some(LinkLayer::Ethernet),
        };
        port.link_layer.or_else(by_gid).or_else(by_name)
    }
}

fn said<T: Clone>(value: &T, one: &Found) -> Said<T> {
    Said { value: value.clone(), witness: one.witness, quote: one.quote.clone() }
}

/// `mlx5_0 (ens1f0)`, `mlx5_0 port 2 (ens1f1)`.
#[must_use]
pub fn port_name(device: &str, number: u32, netdev: Option<&str>) -> String {
    let mut name = device.to_owned();
    if number != 1 {
        name.push_str(" port ");
        name.push_str(&number.to_string());
    }
    if let Some(netdev) = netdev {
        name.push_str(" (");
        name.push_str(netdev);
        name.push(')');
    }
    name
}

/// The port's name for people.
#[must_use]
pub fn name_of(port: &RdmaPort) -> String {
    port_name(&port.device, port.number, port.netdev.as_deref())
}
