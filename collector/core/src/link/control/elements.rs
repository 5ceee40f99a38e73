//! One rank's contributions to the gathers of a bootstrap ring.

use super::facts::{ChannelTopology, RankTopology, RingMember};
use crate::decode::nccl::layout::Layout;
use crate::decode::nccl::peer_info::PeerInfo;
use crate::decode::nccl::ring_data::RingData;
use crate::decode::nccl::topology::{Topology, TopologyArray};

/// A rank's frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a> {
    /// From the first gather.
    pub(super) addresses: &'a [u8],
    /// From the gather of processes and GPUs.
    pub(super) peer_info: &'a [u8],
    /// From the gather of topologies, if it was captured.
    pub(super) topology: Option<&'a [u8]>,
}

impl Elements<'_> {
    /// The rank's data, and the communicator's commHash if it follows from it: the hashes of host
    /// and process are included with commHash and, from 2.26 on, without it.
    pub(super) fn read(self, layout: &Layout, nranks: u32) -> Option<(RingMember, Option<u64>)> {
        let ring_data = RingData::decode(self.addresses, layout.addresses)?;
        let info = PeerInfo::decode(self.peer_info, layout.peer_info)?;
        let ras = ring_data.ras;
        let host = ras.and_then(|ras| Some(info.host_hash.wrapping_sub(ras.host_hash?)));
        let process = ras.and_then(|ras| Some(info.pid_hash.wrapping_sub(ras.pid_hash?)));
        let comm_hash = host.filter(|_| host == process);
        let topology = self.topology.and_then(|element| Topology::decode(element, layout.topology));
        let member = RingMember {
            rank: info.rank,
            peer_listener: Some(ring_data.peer_listener),
            ras_listener: ras.and_then(|ras| ras.listener),
            pid: ras.and_then(|ras| ras.pid),
            cuda_device: Some(info.cuda_device),
            nvml_device: info.nvml_device,
            host_hash: Some(info.host_hash),
            pid_hash: Some(info.pid_hash),
            bus_id: Some(info.bus_id),
            release: info.release,
            topology: topology.map(|topology| rank_topology(&topology, nranks)),
        };
        Some((member, comm_hash))
    }
}

fn rank_topology(topology: &Topology<'_>, nranks: u32) -> RankTopology {
    let channels = topology.ring_channels.max(topology.tree_channels) as usize;
    let channel = |channel: usize| {
        let rank = |array| topology.rank(array, channel).filter(|rank| *rank < nranks);
        ChannelTopology {
            ring_receive: rank(TopologyArray::RingReceive),
            ring_send: rank(TopologyArray::RingSend),
            ring_previous: rank(TopologyArray::RingPrevious),
            ring_next: rank(TopologyArray::RingNext),
            tree_to_parent: rank(TopologyArray::TreeToParent),
            tree_to_child0: rank(TopologyArray::TreeToChild0),
            tree_to_child1: rank(TopologyArray::TreeToChild1),
        }
    };
    RankTopology {
        ring_channels: topology.ring_channels,
        tree_channels: topology.tree_channels,
        crosses_nics: topology.crosses_nics,
        channels: (0..channels).map(channel).collect(),
    }
}
