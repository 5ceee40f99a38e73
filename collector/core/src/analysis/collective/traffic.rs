//! A communicator's connections as the search sees them: lanes, by channel and in the order of the
//! ring.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::calls::{Call, Calls};
use super::forwarding::NextLane;
use super::lane::Lane;
use super::slicing::{LL_CAPACITY, LL128_CAPACITY, SIMPLE_RING_CAPACITY, Slicing};
use super::thresholds::LANES_APART;
use super::unnamed;
use crate::link::job::{Channel, Communicator, CommunicatorId, Job, NetConnectionId};
use crate::model::nccl::{Graph, Protocol, Release};

/// Since this release each channel works on one contiguous part of the buffer, and chunks of the
/// last loop are as short as possible.
const CELL_SPLIT: Release = Release::new(2, 22, 0);

/// One communicator's messages.
pub struct Traffic {
    /// Its connections.
    pub lanes: Vec<Lane>,
    /// Its lanes by channel, in order.
    pub channels: Vec<ChannelLanes>,
    /// Places of the lanes of sends and receives.
    pub point_to_point: Vec<usize>,
    /// Ranks.
    pub nranks: usize,
    /// Its release is 2.22 or later; `None` if unknown.
    pub is_cell_split: Option<bool>,
    /// Calls from the logs.
    pub calls: Calls,
    /// Bytes that its CTSs offer, other than LL's and LL128's.
    pub(super) simple_capacities: BTreeSet<u64>,
}

/// A channel's lanes, by their places.
#[derive(Clone, Debug, Default)]
pub struct ChannelLanes {
    /// Connections of the ring, in its order.
    pub ring: Vec<usize>,
    /// Distance of their senders from rank 0 along the ring.
    pub positions: Vec<Option<u64>>,
    /// For each, the next captured one.
    pub next: Vec<NextLane>,
    /// Every connection of the ring was seen.
    pub is_whole: bool,
    /// Connections of the tree, up and down.
    pub tree: Vec<usize>,
    /// The tree has connections of its own.
    pub has_tree: bool,
}

impl ChannelLanes {
    /// All lanes of the channel, those that ring and tree share once.
    #[must_use]
    pub fn places(&self) -> Vec<usize> {
        let own = self.tree.iter().filter(|place| !self.ring.contains(place));
        self.ring.iter().chain(own).copied().collect()
    }
}

impl Traffic {
    /// The messages of `communicator`.
    #[must_use]
    pub fn new(job: &Job, id: CommunicatorId, communicator: &Communicator) -> Self {
        let mut lanes = Vec::new();
        let mut point_to_point = Vec::new();
        let mut by_channel: BTreeMap<(Option<u32>, u32), Vec<usize>> = BTreeMap::new();
        let mut unnumbered: BTreeMap<(Option<u32>, Option<u32>), Vec<usize>> = BTreeMap::new();
        for (place, connection) in job.connections.iter().enumerate() {
            let is_own = connection.communicator == id && connection.carries_data();
            if !is_own || connection.transfers.is_empty() {
                continue;
            }
            let at = lanes.len();
            let lane = Lane::new(NetConnectionId(place as u32), connection);
            let is_point_to_point = match connection.graph {
                Some(graph) => graph == Graph::PointToPoint,
                None => unnamed::is_point_to_point(&lane),
            };
            lanes.push(lane);
            if is_point_to_point {
                point_to_point.push(at);
                continue;
            }
            match connection.channel {
                Some(_) => {
                    by_channel.entry((connection.channel, 0)).or_default().push(at);
                }
                None => {
                    unnumbered
                        .entry((connection.sender, connection.receiver))
                        .or_default()
                        .push(at);
                }
            }
        }
        for places in unnumbered.into_values() {
            for (ordinal, place) in (1..).zip(by_likely_channel(job, &lanes, places)) {
                by_channel.entry((None, ordinal)).or_default().push(place);
            }
        }
        let nranks = nranks(communicator, &lanes);
        let channels = by_channel
            .iter()
            .map(|((channel, _), on_it)| {
                let known = communicator
                    .channels
                    .iter()
                    .find(|known| known.channel == *channel && channel.is_some());
                channel_lanes(&lanes, on_it, known.or(communicator.channels.first()), nranks)
            })
            .collect();
        let offered =
            lanes.iter().flat_map(|lane| &lane.messages).filter_map(|message| message.capacity);
        let simple_capacities =
            offered.filter(|capacity| ![LL_CAPACITY, LL128_CAPACITY].contains(capacity)).collect();
        let is_cell_split = communicator.release.map(|release| release >= CELL_SPLIT);
        let calls = Calls::new(job, id, nranks);
        Self { lanes, channels, point_to_point, nranks, is_cell_split, calls, simple_capacities }
    }

    /// The first message of every connection was seen.
    #[must_use]
    pub fn is_from_start(&self) -> bool {
        self.lanes.iter().all(|lane| lane.is_from_start)
    }

    /// The logged call of collective `number`, not counting sends and receives; `None` unless the
    /// communicator's first message was captured.
    #[must_use]
    pub fn expected(&self, number: usize) -> Option<&Call> {
        self.calls.collectives.get(number).filter(|_| self.is_from_start())
    }

    /// How messages are cut for CTSs of `capacity`: in a ring collective, and in a tree or chain.
    #[must_use]
    pub fn slicings(&self, capacity: Option<u64>) -> (Option<Slicing>, Option<Slicing>) {
        let both = |protocol, capacity| {
            (Some(Slicing::ring(protocol, capacity)), Some(Slicing::stream(protocol, capacity)))
        };
        match capacity {
            None => (Some(Slicing::ring(Protocol::Simple, SIMPLE_RING_CAPACITY)), None),
            Some(LL_CAPACITY) => both(Protocol::Ll, LL_CAPACITY),
            Some(LL128_CAPACITY) => both(Protocol::Ll128, LL128_CAPACITY),
            Some(capacity) => {
                let (ring, stream) = both(Protocol::Simple, capacity);
                // A ring's messages have two steps, a tree's and a chain's one.
                let has_twice = self.simple_capacities.contains(&(capacity * 2));
                let has_half = self.simple_capacities.contains(&(capacity / 2));
                match capacity {
                    _ if has_half || capacity == SIMPLE_RING_CAPACITY => (ring, None),
                    _ if has_twice || capacity * 2 == SIMPLE_RING_CAPACITY => (None, stream),
                    _ => (ring, stream),
                }
            }
        }
    }
}

/// The connections between two ranks by likely channel, where no source names the channel. Small
/// collectives use only the first channels, so those have more messages, and of more protocols; where
/// they are alike, NCCL created a device's queue pairs channel by channel.
fn by_likely_channel(job: &Job, lanes: &[Lane], mut places: Vec<usize>) -> Vec<usize> {
    let count = |place: &usize| lanes[*place].messages.len();
    let offers = |place: &usize| -> BTreeSet<u64> {
        lanes[*place].messages.iter().filter_map(|message| message.capacity).collect()
    };
    places.sort_by_cached_key(|place| (Reverse(offers(place).len()), Reverse(count(place))));
    for alike in places.chunk_by_mut(|one, next| {
        count(one).abs_diff(count(next)) <= LANES_APART && offers(one) == offers(next)
    }) {
        alike.sort_by_key(|place| {
            let connection = lanes.get(*place).and_then(|lane| job.connection(lane.connection));
            let first = connection.and_then(|connection| connection.queue_pairs.first());
            first.map(|pair| (pair.receiver, pair.receiver_qpn))
        });
    }
    places
}

fn nranks(communicator: &Communicator, lanes: &[Lane]) -> usize {
    let by_ring = || communicator.channels.iter().map(|channel| channel.ring.len()).max();
    let senders: BTreeSet<u32> = lanes.iter().filter_map(|lane| lane.sender).collect();
    let known = communicator.nranks.map(|nranks| nranks as usize);
    known.or_else(|| by_ring().filter(|ranks| *ranks > 1)).unwrap_or(senders.len())
}

fn channel_lanes(
    lanes: &[Lane],
    on_it: &[usize],
    known: Option<&Channel>,
    nranks: usize,
) -> ChannelLanes {
    let ring: &[u32] = known.map_or(&[], |known| &known.ring);
    let zero = ring.iter().position(|rank| *rank == 0).unwrap_or(0);
    let position = |rank: Option<u32>| {
        let at = ring.iter().position(|known| Some(*known) == rank)?;
        Some((at + ring.len() - zero) % ring.len())
    };
    let ends = |lane: &Lane| (position(lane.sender), position(lane.receiver));
    let is_ring_edge = |lane: &Lane| match ends(lane) {
        (Some(from), Some(to)) => (from + 1) % ring.len() == to,
        _ => lane.graph != Some(Graph::Tree),
    };
    let mut on_ring: Vec<usize> =
        on_it.iter().copied().filter(|place| is_ring_edge(&lanes[*place])).collect();
    on_ring.sort_by_key(|place| position(lanes[*place].sender));
    let positions: Vec<Option<u64>> =
        on_ring.iter().map(|place| position(lanes[*place].sender).map(|at| at as u64)).collect();
    let next =
        (0..on_ring.len()).map(|at| next_lane(lanes, &on_ring, &positions, at, nranks)).collect();
    let is_whole = on_ring.len() == nranks;
    let tree: Vec<usize> =
        on_it.iter().copied().filter(|place| is_tree_edge(lanes, on_it, *place, known)).collect();
    let has_tree = tree.iter().any(|place| lanes[*place].graph == Some(Graph::Tree));
    ChannelLanes { ring: on_ring, positions, next, is_whole, tree, has_tree }
}

/// The lane after the one at `at`, and its sender's distance in ranks.
fn next_lane(
    lanes: &[Lane],
    on_ring: &[usize],
    positions: &[Option<u64>],
    at: usize,
    nranks: usize,
) -> NextLane {
    let after = (at + 1) % on_ring.len();
    if after == at {
        return None;
    }
    match (positions[at], positions[after]) {
        (Some(from), Some(to)) => {
            let distance = (to as usize + nranks - from as usize % nranks) % nranks;
            (distance > 0).then_some((after, distance))
        }
        _ => {
            let receiver = lanes[on_ring[at]].receiver?;
            let after = on_ring.iter().position(|place| lanes[*place].sender == Some(receiver))?;
            Some((after, 1))
        }
    }
}

fn is_tree_edge(lanes: &[Lane], on_it: &[usize], place: usize, known: Option<&Channel>) -> bool {
    let lane = &lanes[place];
    let (from, to) = (lane.sender, lane.receiver);
    match known.and_then(|known| known.tree.as_ref()) {
        Some(nodes) => nodes.iter().any(|node| {
            let (rank, up) = (Some(node.rank), node.up);
            up.is_some() && ((rank, up) == (from, to) || (rank, up) == (to, from))
        }),
        None => {
            on_it.iter().any(|other| (lanes[*other].sender, lanes[*other].receiver) == (to, from))
        }
    }
}
