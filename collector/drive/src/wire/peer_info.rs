//! What every rank sends all others about its process and GPU, in AllGather1: `struct ncclPeerInfo`
//! (NCCL `src/include/transport.h`, filled by `fillInfo` of `src/init.cc`).
//!
//! Rank at 0, CUDA device at 4, NVML device at 8, GPUDirect at 12, hashes of host and process at 16
//! and 24 (plus commHash), device of `/dev/shm` at 32, bus id of the GPU at 40, address of `comm` at
//! 48, compute capability at 56. Then in 2.21.5 (96 bytes) the fabric information at 60; in 2.27.7
//! (120 bytes) the GPU's memory at 64, fabric information at 72, support of cuMem at 108, release at
//! 112.

use super::Parsed;
use super::image::{Fields, Image};
use crate::release::Release;

/// One rank's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// Rank in the communicator.
    pub rank: u32,
    /// Its GPU, numbered by CUDA in the process.
    pub cuda_device: u32,
    /// Its GPU, numbered by NVML on the host.
    pub nvml_device: u32,
    /// Whether NICs can access its GPU.
    pub gdr_support: u32,
    /// Hash of host name and boot id, plus commHash modulo 2^64.
    pub host_hash: u64,
    /// Hash of PID and PID namespace, plus commHash modulo 2^64.
    pub pid_hash: u64,
    /// `st_dev` of `/dev/shm`.
    pub shm_device: u64,
    /// The hexadecimal digits of domain, bus, device and function as one number.
    pub bus_id: u64,
    /// Address of the communicator in the rank.
    pub comm: u64,
    /// 80 for 8.0.
    pub compute_capability: u32,
    /// Version of the fabric information, `nvmlGpuFabricInfoV_t`; the rest is zero.
    pub fabric_version: u32,
    /// GPU memory in bytes; from 2.27 on.
    pub gpu_memory: u64,
    /// Whether cuMem allocations are supported; from 2.22 on.
    pub cu_mem_support: u32,
    /// `NCCL_VERSION_CODE`; from 2.23 on.
    pub version: u32,
}

/// Size in bytes.
#[must_use]
pub const fn len(release: Release) -> usize {
    match release {
        Release::V2_21_5 => 96,
        Release::V2_27_7 => 120,
    }
}

impl PeerInfo {
    /// The bytes on the wire.
    #[must_use]
    pub fn encode(&self, release: Release) -> Vec<u8> {
        let image = Image::new(len(release)).u32(0, self.rank).u32(4, self.cuda_device);
        let image = image.u32(8, self.nvml_device).u32(12, self.gdr_support);
        let image = image.u64(16, self.host_hash).u64(24, self.pid_hash);
        let image = image.u64(32, self.shm_device).u64(40, self.bus_id).u64(48, self.comm);
        let image = image.u32(56, self.compute_capability);
        let image = match release {
            Release::V2_21_5 => image.u32(60, self.fabric_version),
            Release::V2_27_7 => image
                .u64(64, self.gpu_memory)
                .u32(72, self.fabric_version)
                .u32(108, self.cu_mem_support)
                .u32(112, self.version),
        };
        image.into_bytes()
    }

    /// # Errors
    /// Another length.
    pub fn parse(bytes: &[u8], release: Release) -> Parsed<Self> {
        let fields = Fields::new(bytes, len(release), "PeerInfo")?;
        let (fabric_version, gpu_memory, cu_mem_support, version) = match release {
            Release::V2_21_5 => (fields.u32(60), 0, 0, 0),
            Release::V2_27_7 => (fields.u32(72), fields.u64(64), fields.u32(108), fields.u32(112)),
        };
        Ok(Self {
            rank: fields.u32(0),
            cuda_device: fields.u32(4),
            nvml_device: fields.u32(8),
            gdr_support: fields.u32(12),
            host_hash: fields.u64(16),
            pid_hash: fields.u64(24),
            shm_device: fields.u64(32),
            bus_id: fields.u64(40),
            comm: fields.u64(48),
            compute_capability: fields.u32(56),
            fabric_version,
            gpu_memory,
            cu_mem_support,
            version,
        })
    }
}
