//! The values in log lines.

use std::net::IpAddr;

use crate::bootstrap::identity;
use crate::job::Seat;
use crate::rdma::Device;
use crate::release::Release;
use crate::wire::UniqueId;

/// A communicator, as one of its ranks sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommFacts {
    /// The release whose log format is used.
    pub release: Release,
    /// The communicator's pointer in the rank: distinguishes communicators of a process.
    pub comm: u64,
    /// The rank that logs.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// Number of rings.
    pub channels: u32,
    /// The GPU's number on its host.
    pub local_rank: u32,
    /// The GPU's bus id, packed.
    pub bus_id: u64,
    /// `commId` of the log.
    pub logged_id: u64,
    /// Hash of the unique id: `commHash`.
    pub comm_hash: u64,
}

impl CommFacts {
    /// The communicator `id`, as the rank at `seat` sees it.
    #[must_use]
    pub fn new(release: Release, id: &UniqueId, seat: &Seat, channels: u32) -> Self {
        let pid = u64::from(std::process::id());
        Self {
            release,
            comm: 0x7f00_0000_0000 | pid << 12,
            rank: seat.rank,
            ranks: seat.ranks,
            channels,
            local_rank: seat.local_rank,
            bus_id: identity::bus_id(seat.local_rank),
            logged_id: id.logged_id(release),
            comm_hash: id.comm_hash(release),
        }
    }
}

/// Whether initialisation starts or is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// `Init START`
    Start,
    /// `Init COMPLETE`
    Complete,
}

/// The data path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// NET/IB on this device.
    Ib(Device),
    /// NET/Socket on the interface of the bootstrap, because there is no device.
    Socket,
}

impl Network {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Ib(_) => "IB",
            Self::Socket => "Socket",
        }
    }
}

/// An interface and its address: `eth0:10.0.0.1<0>`.
pub(super) fn interface(name: &str, address: IpAddr) -> String {
    format!("{name}:{address}<0>")
}
