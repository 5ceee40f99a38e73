//! Small networks for tests, and a record of what happens in them.

use std::net::{IpAddr, Ipv4Addr};

use railscope_drive::simulate::network::Network;
use railscope_drive::simulate::network::id::{
    LinkId, NicId, NodeId, PortId, PrioritySet, SwitchId, TapId,
};
use railscope_drive::simulate::network::notice::{Notice, QueuePairId, QueuePairOptions, Work};
use railscope_drive::simulate::network::packet::{Ecn, Packet};
use railscope_drive::simulate::network::plan::{
    Dcqcn, DscpMap, EcnMarking, LinkEnd, LinkPlan, NetworkPlan, NicPlan, Pfc, QueuePlan,
    ReceivePlan, SwitchPlan, TapPlan,
};
use railscope_drive::simulate::network::tap::{Direction, Occurrence, TapSink};
use railscope_drive::simulate::time::VirtualTime;

/// RoCE's priority here: that of DSCP 26.
pub const LOSSLESS: u8 = 3;
pub const ROCE_DSCP: u8 = 26;
/// The priority of DSCP 48.
pub const CNP_PRIORITY: u8 = 6;

pub const PFC: Pfc = Pfc { xoff_bytes: 400_000, xon_bytes: 300_000, headroom_bytes: 300_000 };
pub const MARKING: EcnMarking = EcnMarking { kmin_bytes: 100_000, kmax_bytes: 300_000, pmax: 0.2 };

pub fn nic(index: usize) -> NicPlan {
    let [high, low] = (index as u16).to_be_bytes();
    NicPlan {
        name: format!("nic{index}"),
        mac: [2, 0, 0, 0, high, low],
        address: IpAddr::V4(Ipv4Addr::new(10, 0, high, low)),
        dcqcn: Some(Dcqcn::published()),
        cnp_dscp: 48,
        receive: ReceivePlan {
            buffer_bytes: 1_000_000,
            xoff_bytes: 500_000,
            xon_bytes: 400_000,
            drain_bps: None,
        },
        lossless: PrioritySet::only(LOSSLESS),
        priorities: DscpMap::by_class(),
        ack_every: 64,
        reorder_ns: None,
    }
}

pub fn switch(index: usize) -> SwitchPlan {
    let mut queues = [QueuePlan::default(); 8];
    queues[usize::from(LOSSLESS)] =
        QueuePlan { marking: Some(MARKING), pfc: Some(PFC), strict: false };
    queues[usize::from(CNP_PRIORITY)].strict = true;
    SwitchPlan {
        name: format!("switch{index}"),
        mac: [2, 1, 0, 0, 0, index as u8],
        buffer_bytes: 16_000_000,
        queues,
        priorities: DscpMap::by_class(),
    }
}

pub fn link(one: NodeId, other: NodeId, rate_bps: u64) -> LinkPlan {
    let end = |node, port: &str| LinkEnd { node, port: port.to_owned() };
    LinkPlan { ends: [end(one, "a"), end(other, "b")], rate_bps, delay_ns: 1000 }
}

/// NICs around one switch; link n belongs to NIC n, whose end comes first.
pub fn star(nics: usize, rate_bps: u64) -> NetworkPlan {
    let hub = NodeId::Switch(SwitchId(0));
    NetworkPlan {
        nics: (0..nics).map(nic).collect(),
        switches: vec![switch(0)],
        links: (0..nics).map(|n| link(NodeId::Nic(NicId(n as u32)), hub, rate_bps)).collect(),
        convergence_ns: 1_000_000,
        sprays: false,
        ..NetworkPlan::default()
    }
}

/// Leaves with `nics` each, every leaf linked to every spine. The NICs' links come first, then the
/// uplinks, leaf by leaf; the lower end is the first.
pub fn leaf_spine(leaves: usize, spines: usize, nics: usize, rate_bps: u64) -> NetworkPlan {
    let node = |index: usize| NodeId::Switch(SwitchId(index as u32));
    let total = leaves * nics;
    let down = (0..total).map(|n| (NodeId::Nic(NicId(n as u32)), node(n / nics)));
    let up = (0..leaves * spines).map(|l| (node(l / spines), node(leaves + l % spines)));
    NetworkPlan {
        nics: (0..total).map(nic).collect(),
        switches: (0..leaves + spines).map(switch).collect(),
        links: down.chain(up).map(|(one, other)| link(one, other, rate_bps)).collect(),
        convergence_ns: 1_000_000,
        sprays: false,
        ..NetworkPlan::default()
    }
}

/// Taps every port; tap n is at port n.
pub fn tap_everything(plan: &mut NetworkPlan) {
    plan.taps = (0..plan.links.len() as u32)
        .flat_map(|link| [PortId::first(LinkId(link)), PortId::second(LinkId(link))])
        .map(|port| TapPlan { name: format!("{port:?}"), port })
        .collect();
}

pub fn options() -> QueuePairOptions {
    QueuePairOptions {
        udp_source_port: 50_000,
        dscp: ROCE_DSCP,
        ecn: Ecn::Ect0,
        mtu: 4096,
        timeout_ns: 10_000_000,
        retries: 7,
    }
}

/// A connected pair of queue pairs.
pub fn pair(
    network: &mut Network,
    from: u32,
    to: u32,
    options: QueuePairOptions,
) -> (QueuePairId, QueuePairId) {
    let one = network.create_queue_pair(NicId(from)).unwrap();
    let other = network.create_queue_pair(NicId(to)).unwrap();
    network.connect(one, other, options).unwrap();
    (one, other)
}

pub fn write(id: u64, bytes: u32, immediate: Option<u32>) -> Work {
    Work { id, bytes, remote_address: 0x7f00_0000_0000 + id, rkey: 0x1234, immediate, head: None }
}

/// Everything that happened, in order.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    pub packets: Vec<(TapId, VirtualTime, Direction, Packet)>,
    pub occurrences: Vec<(VirtualTime, Occurrence)>,
}

impl TapSink for Seen {
    fn packet(&mut self, tap: TapId, time: VirtualTime, direction: Direction, packet: &Packet) {
        self.packets.push((tap, time, direction, packet.clone()));
    }

    fn occurred(&mut self, time: VirtualTime, occurrence: Occurrence) {
        self.occurrences.push((time, occurrence));
    }
}

impl Seen {
    /// The packets at one port.
    pub fn at(
        &self,
        port: PortId,
    ) -> impl Iterator<Item = (VirtualTime, Direction, &Packet)> + Clone {
        // The numbering of `tap_everything`.
        let tap = TapId(port.link().0 * 2 + port.end() as u32);
        self.packets.iter().filter(move |p| p.0 == tap).map(|p| (p.1, p.2, &p.3))
    }
}

/// Runs the simulation to its end.
pub fn finish(network: &mut Network, taps: &mut dyn TapSink) -> Vec<(VirtualTime, Notice)> {
    let mut notices = Vec::new();
    while let Some(notice) = network.advance(taps) {
        notices.push((network.now(), notice));
    }
    notices
}
