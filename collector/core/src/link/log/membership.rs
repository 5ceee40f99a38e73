//! One rank of one communicator, from the log of its process.

use std::collections::BTreeMap;

use crate::decode::nccl_log::call::{Call, Choice};
use crate::decode::nccl_log::communicator::{End, Init, InitStage, Split, Summary, Timings};
use crate::decode::nccl_log::graph::{ChannelCounts, Edge, EdgeEnd, RingPlace, TreePlace, Via};
use crate::decode::nccl_log::message::Message;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::witness::Witness;

/// A rank of a communicator.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The communicator's address in the process.
    pub pointer: u64,
    /// Rank in the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// Packed PCI id of the GPU.
    pub bus_id: Option<u64>,
    /// `commId` as printed.
    pub hash: Option<u64>,
    /// The split, and the parent's index among the process's memberships.
    pub split: Option<(Split, Option<usize>)>,
    /// Whether the initialisation was completed.
    pub is_complete: bool,
    /// Whether its release prints that: 2.2 and 2.3 do not.
    pub reports_end: bool,
    /// How it ended.
    pub end: Option<End>,
    /// What was set up.
    pub setup: Setup,
    /// Its collective calls.
    pub calls: Vec<CallFact>,
    /// NCCL's choices, with counts.
    pub choices: BTreeMap<ChoiceKey, u64>,
    /// The first line about it.
    pub first: Witness,
    /// Number of lines about it.
    pub lines: u64,
}

/// Facts of the initialisation, before the communicator has a name or while it has.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The network between nodes.
    pub network: Option<String>,
    /// Nodes and ranks on this node.
    pub summary: Option<Summary>,
    /// Rings by channel, as rank 0 prints them.
    pub rings: BTreeMap<u32, Vec<u32>>,
    /// The rank's neighbours in rings, by channel.
    pub ring_places: BTreeMap<u32, RingPlace>,
    /// The rank's place in trees, by channel.
    pub tree_places: BTreeMap<u32, TreePlace>,
    /// Number of channels for rings, trees and point-to-point.
    pub channels: Option<ChannelCounts>,
    /// Edges that the rank printed.
    pub edges: Vec<EdgeFact>,
    /// Rings and trees that were connected: `rings`, `trees`.
    pub connected: Vec<String>,
    /// How long the bootstrap took.
    pub bootstrap: Option<TimingFact>,
    /// How long the whole initialisation took.
    pub init: Option<TimingFact>,
}

/// An edge between two ranks, as one of its ends printed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeFact {
    /// Channel number, from 0.
    pub channel: u32,
    /// 0 for collectives, 1 for sends and receives.
    pub connection_index: Option<u32>,
    /// The rank that sends.
    pub sender: u32,
    /// The rank that receives.
    pub receiver: u32,
    /// PCI ids of the sender's and the receiver's GPU, where the release prints them.
    pub gpus: [Option<u64>; 2],
    /// Which end printed it.
    pub end: Option<EdgeEnd>,
    /// The network; `None` within a node.
    pub network: Option<String>,
    /// The rank whose NIC is used, where it is not the own.
    pub proxy_rank: Option<u32>,
    /// The transport as printed: `NET/IB/0`, `SHM/direct/direct`.
    pub via: String,
    /// The line.
    pub witness: Witness,
}

/// Total time and its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingFact {
    /// In nanoseconds.
    pub total_ns: u64,
    /// Parts by name, in nanoseconds.
    pub parts: Vec<(String, u64)>,
    /// The line.
    pub witness: Witness,
}

/// A call of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFact {
    /// Its number, which calls of one group share.
    pub number: u64,
    /// What was called.
    pub kind: CollectiveKind,
    /// Elements times element size; `None` if the datatype is unknown.
    pub bytes: Option<u64>,
    /// Root, or peer.
    pub root: u32,
    /// The line.
    pub witness: Witness,
}

/// NCCL's choice for a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChoiceKey {
    /// The collective, if the line names it.
    pub kind: Option<CollectiveKind>,
    /// Size of the collective, as NCCL printed it.
    pub bytes: u64,
    /// Chosen algorithm.
    pub algorithm: Algorithm,
    /// Chosen protocol.
    pub protocol: Protocol,
    /// First and last channel.
    pub channels: Option<(u32, u32)>,
}

/// Distinct choices kept per rank.
const CHOICE_CAPACITY: usize = 4_096;
/// NCCL's `MAXCHANNELS`.
const CHANNELS: u32 = 64;

impl Membership {
    pub(super) fn new(
        init: &Init<'_>,
        parent: Option<usize>,
        setup: Setup,
        witness: Witness,
    ) -> Self {
        Self {
            pointer: init.pointer,
            rank: init.rank,
            nranks: init.nranks,
            bus_id: init.bus_id,
            hash: init.hash,
            split: init.split.map(|split| (split, parent)),
            is_complete: init.stage == InitStage::Complete,
            reports_end: init.stage != InitStage::Named,
            end: None,
            setup,
            calls: Vec::new(),
            choices: BTreeMap::new(),
            first: witness,
            lines: 1,
        }
    }

    /// Adds a logged call of a collective; `witness` is its line.
    pub(super) fn add_call(&mut self, call: &Call<'_>, witness: Witness) {
        let Call { number, kind, bytes, root, .. } = *call;
        self.calls.push(CallFact { number, kind, bytes, root, witness });
    }

    /// Adds a choice; `false` if it does not fit.
    pub(super) fn add_choice(&mut self, choice: &Choice) -> bool {
        let Choice { kind, bytes, algorithm, protocol, channels } = *choice;
        let key = ChoiceKey { kind, bytes, algorithm, protocol, channels };
        let has_room = self.choices.len() < CHOICE_CAPACITY || self.choices.contains_key(&key);
        if has_room {
            *self.choices.entry(key).or_insert(0) += 1;
        }
        has_room
    }

    /// Whether all rings are connected.
    #[must_use]
    pub fn has_rings(&self) -> bool {
        self.setup.connected.iter().any(|what| what == "rings")
    }
}

impl Setup {
    /// Processes a line of initialisation; `false` for any other line.
    pub(super) fn observe(&mut self, message: &Message<'_>, witness: Witness) -> bool {
        match message {
            Message::Network(name) => self.network = Some((*name).to_owned()),
            Message::AssignedNetwork(name) => {
                self.network.get_or_insert_with(|| (*name).to_owned());
            }
            Message::Summary(summary) => self.summary = Some(*summary),
            Message::RingOrder(ring) if ring.channel < CHANNELS => {
                self.rings.entry(ring.channel).or_insert_with(|| ring.ranks().collect());
            }
            Message::RingPlace(place) if place.channel < CHANNELS => {
                self.ring_places.insert(place.channel, *place);
            }
            Message::Trees(trees) => {
                let places = trees.iter().filter(|place| place.channel < CHANNELS);
                self.tree_places.extend(places.map(|place| (place.channel, place)));
            }
            Message::TreePlace(place) if place.channel < CHANNELS => {
                self.tree_places.insert(place.channel, *place);
            }
            Message::ChannelCounts(counts) => self.channels = Some(*counts),
            Message::Edge(edge) => self.edges.push(EdgeFact::new(edge, witness)),
            Message::Connected(connected) => {
                if !self.connected.iter().any(|what| what == connected.what) {
                    self.connected.push(connected.what.to_owned());
                }
            }
            Message::BootstrapTimings(timings) => {
                self.bootstrap = Some(TimingFact::new(timings, witness));
            }
            Message::InitTimings(timings) => self.init = Some(TimingFact::new(timings, witness)),
            _ => return false,
        }
        true
    }

    /// Whether a ring or tree is known.
    pub(super) fn has_graph(&self) -> bool {
        !self.rings.is_empty() || !self.ring_places.is_empty() || !self.tree_places.is_empty()
    }
}

impl EdgeFact {
    pub(super) fn new(edge: &Edge<'_>, witness: Witness) -> Self {
        let (network, proxy_rank, via) = match edge.via {
            Via::Net { network, device, proxy_rank, .. } => {
                let device = device.map_or_else(String::new, |device| format!("/{device}"));
                (Some(network.to_owned()), proxy_rank, format!("NET/{network}{device}"))
            }
            Via::Local(via) => (None, None, via.to_owned()),
        };
        let Edge { channel, connection_index, sender, receiver, gpus, end, .. } = *edge;
        Self {
            channel,
            connection_index,
            sender,
            receiver,
            gpus,
            end,
            network,
            proxy_rank,
            via,
            witness,
        }
    }

    /// The rank that printed it: within a node, the sender.
    pub(super) fn printed_by(edge: &Edge<'_>) -> u32 {
        if edge.end == Some(EdgeEnd::Receive) { edge.receiver } else { edge.sender }
    }
}

impl TimingFact {
    fn new(timings: &Timings<'_>, witness: Witness) -> Self {
        let parts = timings.parts().map(|(name, ns)| (name.to_owned(), ns)).collect();
        Self { total_ns: timings.total_ns, parts, witness }
    }

    /// The part with this name, in nanoseconds.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<u64> {
        self.parts.iter().find(|(known, _)| known == name).map(|(_, ns)| *ns)
    }
}
