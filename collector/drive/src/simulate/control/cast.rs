//! The participants in a job's control plane, and how each identifies itself.

use std::net::{IpAddr, SocketAddr};

use super::transcript::Transcript;
use crate::bootstrap::identity::Identity;
use crate::job::Seat;
use crate::release::Release;
use crate::simulate::job::Seats;
use crate::simulate::scenario::map::Map;
use crate::wire::{UniqueId, hash};

/// Port of the first job's store; the next job uses the next port.
const STORE_PORT: u16 = 29_500;

/// The PID of rank 0.
const FIRST_PID: u32 = 4_001;

/// `st_dev` of `/dev/shm`.
const SHM_DEVICE: u64 = 0x1a;

/// The ranks of a job.
#[derive(Debug)]
pub(super) struct Cast {
    pub release: Release,
    pub actors: Vec<Actor>,
    pub store: SocketAddr,
    pub id: UniqueId,
}

/// A rank.
#[derive(Debug)]
pub(super) struct Actor {
    pub rank: u32,
    pub pid: u32,
    /// Address of the host's first NIC: `NCCL_SOCKET_IFNAME`.
    pub address: IpAddr,
    pub seat: Seat,
    pub identity: Identity,
}

impl Cast {
    /// The root listens at a port of rank 0's host.
    pub(super) fn new(
        number: u32,
        release: Release,
        seats: &Seats,
        map: &Map,
        transcript: &mut Transcript<'_>,
        random: &mut fastrand::Rng,
    ) -> Self {
        let address = |host: u32| {
            let nic = map.nics.get(map.nic_of(host, 0));
            nic.map_or(IpAddr::from([0; 4]), |nic| nic.address)
        };
        let root_host = address(seats.host(0));
        let store = SocketAddr::new(root_host, STORE_PORT.wrapping_add(number as u16));
        let actors = (0..seats.ranks()).map(|rank| {
            let host = seats.host(rank);
            let pid = FIRST_PID + number * 10_000 + rank;
            let seat = Seat {
                rank,
                ranks: seats.ranks(),
                local_rank: rank % seats.per_host,
                address: address(host),
                interface: "eth0".to_owned(),
                host: format!("host{host}"),
                store,
                log: None,
            };
            // As NCCL derives them from the name, the boot id and the PID namespace.
            let host_text = format!("host{host}00000000-0000-4000-8000-{host:012}");
            let identity = Identity {
                host_hash: hash::hash(release, host_text.as_bytes()),
                pid_hash: hash::hash(release, format!("{pid}pid:[4026531836]").as_bytes()),
                shm_device: SHM_DEVICE,
            };
            Actor { rank, pid, address: seat.address, seat, identity }
        });
        let actors = actors.collect();
        let root = transcript.port(root_host);
        let id = UniqueId::new(random.u64(..), root);
        Self { release, actors, store, id }
    }

    /// The rank `distance` places further around the ring.
    pub(super) fn after(&self, rank: usize, distance: usize) -> usize {
        (rank + distance) % self.actors.len()
    }
}
