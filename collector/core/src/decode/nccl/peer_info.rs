//! Each rank's process and GPU, as sent to all others (`struct ncclPeerInfo`, NCCL
//! `src/include/transport.h`).

use super::structure::Structure;
use crate::model::nccl::Release;

/// Offsets of the fields, in bytes. Those with the same offset in every release are constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfoLayout {
    /// Size.
    pub len: usize,
    /// `nvmlDev`; `None` for 64 bytes, where releases of the same size differ.
    pub nvml_device: Option<usize>,
    /// `version`.
    pub version: Option<usize>,
}

/// `rank`.
pub const RANK: usize = 0;
/// `cudaDev`.
pub const CUDA_DEVICE: usize = 4;
/// `hostHash`.
pub const HOST_HASH: usize = 16;
/// `pidHash`.
pub const PID_HASH: usize = 24;
/// `busId`.
pub const BUS_ID: usize = 40;

/// 2.12 to 2.19.
pub const PEER_INFO_64: PeerInfoLayout =
    PeerInfoLayout { len: 64, nvml_device: None, version: None };
/// 2.20 and 2.21.
pub const PEER_INFO_96: PeerInfoLayout =
    PeerInfoLayout { len: 96, nvml_device: Some(8), version: None };
/// 2.22, which has padding at the offset of later releases' version.
pub const PEER_INFO_104_UNVERSIONED: PeerInfoLayout =
    PeerInfoLayout { len: 104, nvml_device: Some(8), version: None };
/// 2.23 to 2.26.
pub const PEER_INFO_104: PeerInfoLayout =
    PeerInfoLayout { len: 104, nvml_device: Some(8), version: Some(100) };
/// 2.27 to 2.29.3.
pub const PEER_INFO_120: PeerInfoLayout =
    PeerInfoLayout { len: 120, nvml_device: Some(8), version: Some(112) };
/// 2.29.7 to 2.30.4.
pub const PEER_INFO_128: PeerInfoLayout =
    PeerInfoLayout { len: 128, nvml_device: Some(8), version: Some(112) };
/// 2.30.7.
pub const PEER_INFO_144: PeerInfoLayout =
    PeerInfoLayout { len: 144, nvml_device: Some(8), version: Some(128) };
/// 2.31.
pub const PEER_INFO_152: PeerInfoLayout =
    PeerInfoLayout { len: 152, nvml_device: Some(8), version: Some(132) };
/// 2.32.
pub const PEER_INFO_168: PeerInfoLayout =
    PeerInfoLayout { len: 168, nvml_device: Some(8), version: Some(132) };

/// A rank's process and GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Rank in the communicator.
    pub rank: u32,
    /// CUDA device in the process.
    pub cuda_device: u32,
    /// NVML device on the host.
    pub nvml_device: Option<u32>,
    /// Hash of host name and boot id, plus commHash modulo 2^64.
    pub host_hash: u64,
    /// Hash of PID and PID namespace, plus commHash modulo 2^64.
    pub pid_hash: u64,
    /// Packed PCI id of the GPU: the hexadecimal digits of domain, bus, device and function.
    pub bus_id: u64,
    /// The rank's release.
    pub release: Option<Release>,
}

impl PeerInfo {
    /// Parses a complete element; `None` if it is invalid.
    #[must_use]
    pub fn decode(bytes: &[u8], layout: &PeerInfoLayout) -> Option<Self> {
        if bytes.len() != layout.len {
            return None;
        }
        let structure = Structure(bytes);
        let release = match layout.version {
            Some(at) => Some(Release::from_code(structure.u32(at)?)?),
            None => None,
        };
        Some(Self {
            rank: structure.count(RANK)?,
            cuda_device: structure.count(CUDA_DEVICE)?,
            nvml_device: layout.nvml_device.and_then(|at| structure.count(at)),
            host_hash: structure.u64(HOST_HASH)?,
            pid_hash: structure.u64(PID_HASH)?,
            bus_id: structure.u64(BUS_ID)?,
            release,
        })
    }
}
