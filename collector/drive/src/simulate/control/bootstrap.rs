//! How the ranks find each other: root, ring, gathers, in the order of `bootstrap`.

use std::net::SocketAddr;

use super::cast::Cast;
use super::transcript::{Line, Speaker, Transcript};
use crate::release::Release;
use crate::simulate::job::Seats;
use crate::simulate::time::VirtualTime;
use crate::wire::check_in::CheckIn;
use crate::wire::greeting::{self, SocketType};
use crate::wire::ring_data::{RasRank, RingData};
use crate::wire::topology::{Channel, Topology};
use crate::wire::{root_reply, socket_address};

/// Time a process takes between two messages, ns.
pub(super) const THINK_NS: u64 = 20_000;

/// Time a rank takes to find the paths between its GPU and its NICs, ns.
const TOPOLOGY_NS: u64 = 4_000_000;

/// The listening addresses of all processes, in rank order.
pub(super) struct Listeners {
    /// For messages of other ranks.
    pub peers: Vec<SocketAddr>,
}

/// The ring of TCP connections.
pub(super) struct Ring {
    /// From each rank to the next.
    lines: Vec<Line>,
}

/// Connects and greets.
pub(super) fn call(
    transcript: &mut Transcript<'_>,
    cast: &Cast,
    (from, to): (usize, SocketAddr),
    at: VirtualTime,
) -> (Line, VirtualTime) {
    let address = cast.actors.get(from).map_or(to.ip(), |actor| actor.address);
    let line = transcript.open(address, to, at);
    let (magic, kind) = greeting::encode(cast.id.magic(), SocketType::Bootstrap);
    transcript.say(line, Speaker::Client, at, magic);
    (line, transcript.say(line, Speaker::Client, at, kind))
}

/// Sends a frame: its length, then its content.
pub(super) fn frame(
    transcript: &mut Transcript<'_>,
    line: Line,
    at: VirtualTime,
    bytes: &[u8],
) -> VirtualTime {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let heard = transcript.say(line, Speaker::Client, at, length.to_le_bytes());
    if bytes.is_empty() { heard } else { transcript.say(line, Speaker::Client, at, bytes) }
}

/// Ranks check in with the root and join the ring; `times` advance.
pub(super) fn join(
    transcript: &mut Transcript<'_>,
    cast: &Cast,
    times: &mut [VirtualTime],
) -> (Ring, Listeners) {
    let root = cast.id.root().unwrap_or(cast.store);
    let count = cast.actors.len();
    let mut listeners = Vec::new();
    let mut checked_in = Vec::new();
    for (rank, actor) in cast.actors.iter().enumerate() {
        let [ring_listener, root_listener] = [(); 2].map(|()| transcript.port(actor.address));
        let ranks = count as u32;
        let check_in = CheckIn { rank: actor.rank, ranks, root_listener, ring_listener };
        let at = times.get(rank).copied().unwrap_or_default();
        let (line, _) = call(transcript, cast, (rank, root), at);
        let heard = frame(transcript, line, at, &check_in.encode(cast.release));
        transcript.close(line);
        listeners.push([ring_listener, root_listener]);
        checked_in.push(heard);
    }
    let all_in = checked_in.iter().copied().max().unwrap_or_default();
    let mut lines = Vec::new();
    let mut connected = Vec::new();
    for rank in 0..count {
        let next = cast.after(rank, 1);
        let known = match cast.release {
            Release::V2_21_5 => all_in.after(rank as u64 * THINK_NS),
            Release::V2_27_7 => checked_in[rank].max(checked_in[next]),
        };
        let (line, _) = call(transcript, cast, (0, listeners[rank][1]), known.after(THINK_NS));
        let reply = root_reply::encode(listeners[next][0], cast.release);
        let heard = frame(transcript, line, known.after(THINK_NS), &reply);
        transcript.close(line);
        let (line, greeted) = call(transcript, cast, (rank, listeners[next][0]), heard);
        lines.push(line);
        connected.push(greeted);
    }
    for (rank, time) in times.iter_mut().enumerate() {
        let previous = cast.after(rank, count - 1);
        *time = connected[rank].max(connected[previous]).after(THINK_NS);
    }
    let peers = match cast.release {
        // There the predecessor on the ring connects to the same listener.
        Release::V2_21_5 => listeners.iter().map(|[ring, _]| *ring).collect(),
        Release::V2_27_7 => {
            cast.actors.iter().map(|actor| transcript.port(actor.address)).collect()
        }
    };
    (Ring { lines }, Listeners { peers })
}

impl Ring {
    /// Gathers every rank's data: each rank forwards what it received last.
    pub(super) fn gather(
        &self,
        transcript: &mut Transcript<'_>,
        cast: &Cast,
        of_each: &[Vec<u8>],
        times: &mut [VirtualTime],
    ) {
        let count = self.lines.len();
        for back in 0..count.saturating_sub(1) {
            let heard: Vec<_> = (0..count)
                .map(|rank| {
                    let slice = cast.after(rank, count - back % count);
                    let bytes = of_each.get(slice).map_or(&[][..], Vec::as_slice);
                    frame(transcript, self.lines[rank], times[rank], bytes)
                })
                .collect();
            for (rank, time) in times.iter_mut().enumerate() {
                let previous = cast.after(rank, count - 1);
                *time = (*time).max(heard[previous]).after(THINK_NS / 4);
            }
        }
    }
}

/// The data that all ranks exchange before data connections are made.
pub(super) fn introduce(
    transcript: &mut Transcript<'_>,
    cast: &Cast,
    (ring, listeners): (&Ring, &Listeners),
    seats: &Seats,
    times: &mut [VirtualTime],
) {
    let release = cast.release;
    let own: Vec<RingData> = (cast.actors.iter().zip(&listeners.peers))
        .map(|(actor, peer_listener)| RingData {
            peer_listener: *peer_listener,
            proxy_listener: transcript.port(actor.address),
            unix_socket: actor.identity.pid_hash ^ 0x5a5a,
            ras: Some(RasRank {
                listener: transcript.port(actor.address),
                pid: actor.pid,
                cuda_device: actor.seat.local_rank,
                nvml_device: actor.seat.local_rank,
                host_hash: actor.identity.host_hash,
                pid_hash: actor.identity.pid_hash,
            }),
        })
        .collect();
    let mut gather = |of_each: Vec<Vec<u8>>, times: &mut [VirtualTime]| {
        ring.gather(transcript, cast, &of_each, times);
    };
    match release {
        Release::V2_21_5 => {
            let address = |address| socket_address::encode(address).to_vec();
            gather(own.iter().map(|own| address(own.peer_listener)).collect(), times);
            gather(own.iter().map(|own| address(own.proxy_listener)).collect(), times);
            gather(own.iter().map(|own| own.unix_socket.to_le_bytes().to_vec()).collect(), times);
        }
        Release::V2_27_7 => gather(own.iter().map(RingData::encode).collect(), times),
    }
    let comm_hash = cast.id.comm_hash(release);
    let peers = cast.actors.iter().map(|actor| {
        let comm = 0x5600_0000_0000 + u64::from(actor.pid) * 0x1000;
        actor.identity.peer_info(&actor.seat, comm_hash, comm, release).encode(release)
    });
    gather(peers.collect(), times);
    for time in times.iter_mut() {
        *time = time.after(TOPOLOGY_NS);
    }
    let topologies = cast.actors.iter().map(|actor| topology(actor.rank, seats, release));
    gather(topologies.map(|topology| topology.encode(release)).collect(), times);
}

/// A rank's view of its host's part of the rings.
fn topology(rank: u32, seats: &Seats, release: Release) -> Topology {
    let single = Topology::of_single_gpu(rank, seats.channels, release);
    let channels = (0..seats.found_channels()).map(|channel| {
        let order = seats.on_host(channel, rank);
        let at = order.iter().position(|other| *other == rank).unwrap_or_default();
        let neighbour = |place: Option<usize>| {
            let found = place.and_then(|place| order.get(place));
            found.map_or(-1, |rank| rank.cast_signed())
        };
        let ends = [neighbour(Some(0)), neighbour(order.len().checked_sub(1))];
        Channel {
            ring_ends: ends,
            ring_neighbours: [neighbour(at.checked_sub(1)), neighbour(Some(at + 1))],
            tree_ends: [ends[0]; 3],
        }
    });
    Topology { channels: channels.collect(), ..single }
}
