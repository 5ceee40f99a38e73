//! Routing: shortest paths, with one of several chosen by a hash of the flow (ECMP), or by chance for
//! each packet (spraying).

use super::id::{NodeId, SwitchId};
use super::packet::FlowKey;
use super::plan::NetworkPlan;
use super::port::SimulatedPort;

/// The paths from each switch to each NIC.
#[derive(Debug)]
pub(super) struct Routing {
    /// Switches with the same number of paths choose differently.
    seeds: Vec<u64>,
    /// The switch of each NIC, and the port of that switch.
    attachments: Vec<Option<(SwitchId, u32)>>,
    /// The ports of one switch on shortest paths to another, by `from * switches + to`.
    ways: Vec<Box<[u32]>>,
    /// Whether all links are up, so that no path needs a check.
    all_up: bool,
    sprays: bool,
}

impl Routing {
    pub(super) fn new(plan: &NetworkPlan, ports: &[SimulatedPort], seed: u64) -> Self {
        let mut attachments = vec![None; plan.nics.len()];
        for (index, port) in (0_u32..).zip(ports) {
            let peer = &ports[(index ^ 1) as usize];
            if let (NodeId::Switch(switch), NodeId::Nic(nic)) = (port.node, peer.node) {
                attachments[nic.0 as usize] = Some((switch, index));
            }
        }
        let switches = plan.switches.len() as u64;
        let seeds = (0..switches).map(|switch| mix(seed.wrapping_add(switch))).collect();
        let mut routing =
            Self { seeds, attachments, ways: Vec::new(), all_up: true, sprays: plan.sprays };
        routing.converge(ports);
        routing
    }

    /// Recomputes all paths over the links that are up.
    pub(super) fn converge(&mut self, ports: &[SimulatedPort]) {
        let switches = self.seeds.len();
        // Links between switches that are up: each switch's ports and where they lead.
        let mut neighbours = vec![Vec::new(); switches];
        for (index, port) in (0_u32..).zip(ports) {
            let peer = &ports[(index ^ 1) as usize];
            if let (NodeId::Switch(from), NodeId::Switch(to)) = (port.node, peer.node)
                && port.is_up()
            {
                neighbours[from.0 as usize].push((index, to.0 as usize));
            }
        }
        self.ways = vec![Box::default(); switches * switches];
        for to in 0..switches {
            let distances = distances(&neighbours, to);
            for (from, neighbours) in neighbours.iter().enumerate() {
                let nearer = neighbours.iter().filter(|&&(_, neighbour)| {
                    matches!((distances[neighbour], distances[from]), (Some(n), Some(f)) if n < f)
                });
                self.ways[from * switches + to] = nearer.map(|&(port, _)| port).collect();
            }
        }
    }

    /// The port through which `switch` forwards a packet of `flow`; `number` differs from packet to
    /// packet.
    pub(super) fn next_port(
        &self,
        switch: u32,
        flow: FlowKey,
        number: u16,
        ports: &[SimulatedPort],
    ) -> Option<u32> {
        let (to, last) = *self.attachments.get(flow.destination.0 as usize)?.as_ref()?;
        if to.0 == switch {
            return ports[last as usize].is_up().then_some(last);
        }
        let ways = &self.ways[switch as usize * self.seeds.len() + to.0 as usize];
        let hash = flow_hash(flow, self.seeds[switch as usize]);
        let hash = if self.sprays { mix(hash ^ u64::from(number)) } else { hash };
        // The high bits of the product: a number below `ways`.
        let choose = |ways: usize| ((u128::from(hash) * ways as u128) >> 64) as usize;
        if self.all_up {
            return ways.get(choose(ways.len())).copied();
        }
        let up = || ways.iter().filter(|&&way| ports[way as usize].is_up());
        up().nth(choose(up().count())).copied()
    }

    /// A link went down or came up: its two ends know at once.
    pub(super) fn links_changed(&mut self, ports: &[SimulatedPort]) {
        self.all_up = ports.iter().all(SimulatedPort::is_up);
    }
}

/// Each switch's distance from `to` in links.
fn distances(neighbours: &[Vec<(u32, usize)>], to: usize) -> Vec<Option<u32>> {
    let mut distances = vec![None; neighbours.len()];
    distances[to] = Some(0);
    let mut reached = vec![to];
    let mut next = 0;
    while let Some(&switch) = reached.get(next) {
        next += 1;
        let further = distances[switch].map(|distance| distance + 1);
        for &(_, neighbour) in &neighbours[switch] {
            if distances[neighbour].is_none() {
                distances[neighbour] = further;
                reached.push(neighbour);
            }
        }
    }
    distances
}

/// A hash of addresses and ports, different at each switch.
const fn flow_hash(flow: FlowKey, seed: u64) -> u64 {
    let addresses = (flow.source.0 as u64) << 32 | flow.destination.0 as u64;
    let ports = (flow.udp_source_port as u64) << 16 | flow.udp_destination_port as u64;
    mix(mix(addresses ^ seed) ^ ports)
}

/// The finalizer of `SplitMix64` (Steele et al., OOPSLA 2014): every bit depends on every bit.
pub(super) const fn mix(value: u64) -> u64 {
    let mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
