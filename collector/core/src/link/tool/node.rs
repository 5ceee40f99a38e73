//! What several tools say of one node, joined.

use std::collections::BTreeMap;

use super::Found;
use crate::decode::tool::Output;
use crate::model::node::{Distances, Gid, LinkLayer, Qos, RdmaPort, RoceVersion, Totals};
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
    /// Their places.
    places: BTreeMap<(String, u32), usize>,
    /// GIDs, in the order of the output.
    pub gids: Vec<Said<Gid>>,
    /// Quality of service, by interface.
    pub qos: Vec<Said<Qos>>,
    /// How far GPUs are from NICs.
    pub distances: Option<Said<Distances>>,
    /// Counters since boot.
    pub totals: Vec<Said<Totals>>,
}

/// The nodes that outputs describe, in the order of their first output.
#[must_use]
pub fn nodes(found: &[Found]) -> Vec<Node> {
    let mut places: BTreeMap<(Option<&str>, Option<LogId>), usize> = BTreeMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    for one in found {
        if matches!(one.output, Output::Benchmark(_) | Output::Inspector(_)) {
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
            Output::Ports(ports) => ports.iter().for_each(|port| self.port(port, one)),
            Output::Gids(gids) => self.gids.extend(gids.iter().map(|gid| said(gid, one))),
            Output::Qos(qos) => self.qos(qos, one),
            Output::Distances(distances) => self.distances = Some(said(distances, one)),
            Output::Totals(totals) => self.totals(totals, one),
            Output::Benchmark(_) | Output::Inspector(_) => {}
        }
    }

    /// Tools tell different things of one port.
    fn port(&mut self, port: &RdmaPort, one: &Found) {
        let key = (port.device.clone(), port.number);
        let Some(known) = self.places.get(&key).and_then(|at| self.ports.get_mut(*at)) else {
            self.places.insert(key, self.ports.len());
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
        known.firmware = known.firmware.take().or_else(|| port.firmware.clone());
    }

    /// The same counters again show what they counted in between.
    fn totals(&mut self, totals: &Totals, one: &Found) {
        let mut later = said(totals, one);
        let known = self.totals.iter_mut().find(|known| known.value.is_read_again_in(totals));
        match known {
            Some(known) => {
                let first = known.value.before.take();
                later.value.before =
                    first.or_else(|| Some(std::mem::take(&mut known.value.values)));
                *known = later;
            }
            None => self.totals.push(later),
        }
    }

    /// `dcb` prints trust and PFC in outputs of their own.
    fn qos(&mut self, qos: &Qos, one: &Found) {
        let is_same = |known: &&mut Said<Qos>| {
            let known = &known.value;
            // Of a named interface, the later output counts.
            known.interface == qos.interface
                && (qos.interface.is_some()
                    || ((known.trust.is_none() || qos.trust.is_none())
                        && (known.pfc.is_none() || qos.pfc.is_none())))
        };
        match self.qos.iter_mut().find(is_same) {
            Some(known) => {
                let known = &mut known.value;
                known.trust = qos.trust.or(known.trust);
                known.pfc = qos.pfc.or(known.pfc);
                known.dscp.extend(&qos.dscp);
            }
            None => self.qos.push(said(qos, one)),
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

    /// The GIDs of a port.
    pub fn gids_of(&self, device: &str, port: u32) -> impl Iterator<Item = &Gid> {
        let all = self.gids.iter().map(|said| &said.value);
        all.filter(move |gid| gid.device == device && gid.port == port)
    }

    /// What a port speaks: as a tool says, as its GIDs show, or as its network interface is named,
    /// which for IPoIB begins with `ib` (systemd.net-naming-scheme(7)).
    #[must_use]
    pub fn link_layer(&self, port: &RdmaPort) -> Option<LinkLayer> {
        // `show_gids` calls GIDs of InfiniBand v1, too.
        let is_v2 = |gid: &Gid| gid.version == Some(RoceVersion::V2);
        let by_gid = || {
            let mut gids = self.gids_of(&port.device, port.number);
            gids.any(is_v2).then_some(LinkLayer::Ethernet)
        };
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
