//! What ranks gather first over the bootstrap ring: their listening addresses (NCCL
//! `src/bootstrap.cc`). Up to 2.22 the addresses are gathered one by one, since then in one
//! structure (`struct bootstrapRingData`, which contains `struct rasRankInit` of
//! `src/include/ras.h`).

use std::net::SocketAddr;

use super::structure::{SOCKET_ADDRESS_BYTES, Structure};

/// What is gathered before PeerInfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressLayout {
    /// Sizes of the gathers, in order. The first starts with the listener for other ranks.
    pub gathers: &'static [usize],
    /// Position of RAS's data in the only gather.
    pub ras: Option<RasLayout>,
}

/// `struct rasRankInit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RasLayout {
    /// Where it starts, in bytes.
    pub at: usize,
    /// Whether the hashes of host and process are included (2.26 and later).
    pub has_hashes: bool,
}

/// 2.12 to 2.19: the listener for other ranks and that of the proxy.
pub const ADDRESSES_28_28: AddressLayout =
    AddressLayout { gathers: &[SOCKET_ADDRESS_BYTES, SOCKET_ADDRESS_BYTES], ras: None };
/// 2.20 to 2.22: and the id of the proxy's Unix socket.
pub const ADDRESSES_28_28_8: AddressLayout =
    AddressLayout { gathers: &[SOCKET_ADDRESS_BYTES, SOCKET_ADDRESS_BYTES, 8], ras: None };
/// 2.23: the same in one structure.
pub const RING_DATA_64: AddressLayout = AddressLayout { gathers: &[64], ras: None };
/// 2.24 and 2.25.
pub const RING_DATA_104: AddressLayout =
    AddressLayout { gathers: &[104], ras: Some(RasLayout { at: 64, has_hashes: false }) };
/// 2.26 and later.
pub const RING_DATA_120: AddressLayout =
    AddressLayout { gathers: &[120], ras: Some(RasLayout { at: 64, has_hashes: true }) };

/// A rank's listening addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingData {
    /// For messages between two ranks.
    pub peer_listener: SocketAddr,
    /// RAS's data, from 2.24 on.
    pub ras: Option<RasRank>,
}

/// RAS's data of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RasRank {
    /// Its listener; `None` if RAS is off.
    pub listener: Option<SocketAddr>,
    /// Process id in the rank's own PID namespace; `None` if RAS is off.
    pub pid: Option<u32>,
    /// Its GPU, numbered by CUDA in the process.
    pub cuda_device: Option<u32>,
    /// Its GPU, numbered by NVML on the host.
    pub nvml_device: Option<u32>,
    /// Hash of host name and boot id.
    pub host_hash: Option<u64>,
    /// Hash of PID and PID namespace.
    pub pid_hash: Option<u64>,
}

impl RingData {
    /// Parses a rank's element of the first gather; `None` if it does not start with an address.
    #[must_use]
    pub fn decode(bytes: &[u8], layout: &AddressLayout) -> Option<Self> {
        let structure = Structure(bytes);
        let ras = layout.ras.and_then(|ras| Some((ras, Structure(bytes.get(ras.at..)?))));
        Some(Self {
            peer_listener: structure.socket_address(0)?,
            ras: ras.map(|(ras, structure)| RasRank::decode(structure, ras)),
        })
    }
}

impl RasRank {
    fn decode(structure: Structure<'_>, layout: RasLayout) -> Self {
        // Without RAS the structure is zero.
        let listener = structure.socket_address(0);
        let is_on = |number: &u32| listener.is_some() || *number != 0;
        let hash = |at| structure.u64(at).filter(|hash| layout.has_hashes && *hash != 0);
        Self {
            listener,
            pid: structure.count(28).filter(|pid| *pid != 0),
            cuda_device: structure.count(32).filter(is_on),
            nvml_device: structure.count(36).filter(is_on),
            host_hash: hash(40),
            pid_hash: hash(48),
        }
    }
}
