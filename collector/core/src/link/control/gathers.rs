//! The initial gathers of a bootstrap ring: addresses, process and GPU, topology. Each rank
//! forwards what the others sent, so that on the connection from rank r to r + 1 the k-th frame of
//! a gather belongs to rank r - k, and the k-th one backwards (NCCL 2.28.7 and later) to rank r + 1
//! + k. The second gather contains the rank, which verifies all of this.

use std::sync::Arc;

use super::direction::{Direction, Run};
use super::elements::Elements;
use super::facts::RingMember;
use super::pool::{Pool, Shared};
use crate::decode::nccl::layout::{LAYOUTS, Layout, ReleaseRange, narrow};
use crate::decode::nccl::peer_info::PeerInfo;
use crate::model::nccl::Release;

/// The first release whose gathers run in both directions.
const FIRST_BOTH_WAYS: Release = Release::new(2, 28, 7);

/// The content of the initial gathers.
#[derive(Clone, Debug)]
pub(super) struct Gathers {
    /// Rank of the connecting end, as the gathers show it.
    pub(super) connector_rank: u32,
    /// Ranks of the communicator.
    pub(super) nranks: u32,
    /// Each rank's data, by rank.
    pub(super) members: Vec<Arc<Shared<RingMember>>>,
    /// NCCL's commHash, if hashes with and without it were gathered.
    pub(super) comm_hash: Option<u64>,
    /// Releases that match.
    pub(super) releases: ReleaseRange,
    /// Frames per gather, forwards.
    pub(super) forward: usize,
    /// Frames per gather, backwards.
    pub(super) backward: usize,
    /// Number of gathers, including the topology.
    pub(super) count: usize,
    /// Whether the topology is complete.
    pub(super) is_whole: bool,
    /// Whether backward frames may be missing although gathers run in both directions: with two
    /// ranks there are none, with three they may be in flight.
    pub(super) may_be_half: bool,
}

/// Lengths of a layout's gathers, in order.
struct Sequence {
    layout: &'static Layout,
    lens: Vec<usize>,
}

/// Frames per gather in one direction, and in the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fit {
    per_gather: usize,
    topologies: usize,
}

impl Sequence {
    /// The sequences of the layout, and of a split child that shares its parent's proxies, which gathers
    /// only the listening addresses (2.18 to 2.22).
    fn for_layout(layout: &'static Layout) -> impl Iterator<Item = Self> {
        let addresses = layout.addresses.gathers;
        let shared = (addresses.len() > 1).then_some(&addresses[..1]);
        [Some(addresses), shared].into_iter().flatten().map(move |addresses| {
            let rest = [layout.peer_info.len, layout.topology.len];
            Self { layout, lens: addresses.iter().copied().chain(rest).collect() }
        })
    }

    /// How the frames of one direction form the gathers; `None` if they do not, or not yet up to
    /// the second last one.
    fn fit(&self, runs: &[Run]) -> Option<Fit> {
        let mut per_gather = None;
        let mut runs = runs.iter().peekable();
        for gathers in self.lens.chunk_by(|a, b| a == b) {
            let is_topology = gathers.first() == self.lens.last();
            let Some(run) = runs.next() else {
                return is_topology.then_some(Fit { per_gather: per_gather?, topologies: 0 });
            };
            let expected = match per_gather {
                Some(frames) => gathers.len().checked_mul(frames)?,
                // The first run is complete only if another one follows.
                None if runs.peek().is_some() && run.count % gathers.len() == 0 => run.count,
                None => return None,
            };
            per_gather = Some(expected / gathers.len());
            if gathers.first() != Some(&run.len) {
                return None;
            }
            if is_topology {
                let is_fitting = run.count == expected || run.count < expected && runs.len() == 0;
                let topologies = run.count;
                return is_fitting.then_some(Fit { per_gather: per_gather?, topologies });
            }
            if run.count != expected {
                return None;
            }
        }
        None
    }
}

impl Gathers {
    /// Parses the frames of both directions; `None` if they are not gathers, or too few.
    pub(super) fn read(forward: &Direction, backward: &Direction) -> Option<Self> {
        let (runs, runs_back) = (forward.runs(), backward.runs());
        LAYOUTS.iter().flat_map(Sequence::for_layout).find_map(|sequence| {
            let fit = sequence.fit(&runs)?;
            let fit_back = match runs_back.is_empty() {
                true => Fit { per_gather: 0, topologies: 0 },
                false => sequence.fit(&runs_back)?,
            };
            Self::read_as(&sequence, [(forward, fit), (backward, fit_back)])
        })
    }

    /// The same, with members that other connections may keep, too.
    pub(super) fn share(mut self, pool: &mut Pool<RingMember>) -> Self {
        for member in &mut self.members {
            *member = pool.share::<RingMember>(member, || RingMember::clone(member));
        }
        self
    }

    /// Bytes of memory, without those of the members.
    pub(super) fn kept(&self) -> usize {
        self.members.capacity() * size_of::<Arc<Shared<RingMember>>>()
    }

    fn read_as(sequence: &Sequence, directions: [(&Direction, Fit); 2]) -> Option<Self> {
        let [(forward, fit), (_, fit_back)] = directions;
        let (ahead, back) = (fit.per_gather, fit_back.per_gather);
        let nranks = u32::try_from(ahead.checked_add(back)?.checked_add(1)?).ok()?;
        let count = sequence.lens.len();
        let peer_info = count.checked_sub(2)?;
        let first = forward.get(peer_info.checked_mul(ahead)?)?;
        let first = PeerInfo::decode(first, sequence.layout.peer_info)?;
        let connector_rank = (first.rank < nranks).then_some(first.rank)?;
        let is_both_ways = first.release.is_some_and(|release| release >= FIRST_BOTH_WAYS);
        let is_balanced = if is_both_ways { back == ahead || back + 1 == ahead } else { back == 0 };
        if !is_balanced {
            return None;
        }
        let mut members = Vec::with_capacity(ahead + back);
        let mut hashes = Vec::with_capacity(ahead + back);
        for (is_forward, (direction, fit)) in [true, false].into_iter().zip(directions) {
            for place in 0..fit.per_gather {
                let gather = |number: usize| direction.get(number * fit.per_gather + place);
                let elements = Elements {
                    addresses: gather(0)?,
                    peer_info: gather(peer_info)?,
                    topology: gather(peer_info + 1),
                };
                let (member, comm_hash) = elements.read(sequence.layout, nranks)?;
                if member.rank != rank_at(connector_rank, nranks, is_forward, place) {
                    return None;
                }
                members.push(Shared::alone(member));
                hashes.push(comm_hash);
            }
        }
        members.sort_unstable_by_key(|member| member.rank);
        let comm_hash = hashes.first().copied().flatten();
        Some(Self {
            connector_rank,
            nranks,
            releases: releases(sequence, &members)?,
            members,
            comm_hash: comm_hash.filter(|_| hashes.iter().all(|hash| *hash == comm_hash)),
            forward: ahead,
            backward: back,
            count,
            may_be_half: is_both_ways && back == 0,
            is_whole: fit.topologies == ahead && fit_back.topologies == back,
        })
    }
}

/// The rank whose element is at `place` on the connection from `connector`.
pub(super) fn rank_at(connector: u32, nranks: u32, is_forward: bool, place: usize) -> u32 {
    let (connector, nranks, place) = (u64::from(connector), u64::from(nranks), place as u64);
    let rank = if is_forward {
        (connector + nranks - place % nranks) % nranks
    } else {
        (connector + 1 + place) % nranks
    };
    rank as u32
}

/// The releases: exact if ranks announce theirs, otherwise all whose layouts have these lengths.
fn releases(sequence: &Sequence, members: &[Arc<Shared<RingMember>>]) -> Option<ReleaseRange> {
    let reported = || members.iter().filter_map(|member| member.release);
    let is_alike = |layout: &Layout| {
        let same = sequence.layout;
        layout.addresses == same.addresses
            && layout.peer_info == same.peer_info
            && layout.topology == same.topology
    };
    let range = ReleaseRange::covering(narrow(&LAYOUTS, is_alike))?;
    match (reported().min(), reported().max()) {
        (Some(first), Some(last)) => {
            let is_possible = range.contains(first) && range.contains(last);
            is_possible.then_some(ReleaseRange { first, last })
        }
        _ => Some(range),
    }
}
