//! How a rank identifies its host, its process and its GPU.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

use crate::job::Seat;
use crate::release::Release;
use crate::wire::hash;
use crate::wire::peer_info::PeerInfo;
use crate::wire::ring_data::RasRank;

/// Host and process hashes, as NCCL computes them before it adds commHash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `getHostHash`: hash of the host name and the kernel's boot id.
    pub host_hash: u64,
    /// `getPidHash`: hash of the PID in decimal and its namespace's name.
    pub pid_hash: u64,
    /// `st_dev` of `/dev/shm`.
    pub shm_device: u64,
}

impl Identity {
    /// The identity of this process as a rank of `host`. Values that the kernel does not provide
    /// are left out, as in NCCL.
    #[must_use]
    pub fn on_host(host: &str, release: Release) -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let host = format!("{host}{}", boot.trim_end());
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let process = format!("{}{}", std::process::id(), namespace.display());
        Self {
            host_hash: hash::hash(release, host.as_bytes()),
            pid_hash: hash::hash(release, process.as_bytes()),
            shm_device: fs::metadata("/dev/shm").map_or(0, |shm| shm.dev()),
        }
    }

    /// The rank's entry for RAS threads, which listen at `listener`; the driver never talks to
    /// them.
    #[must_use]
    pub fn ras(&self, seat: &Seat, listener: SocketAddr) -> RasRank {
        RasRank {
            listener,
            pid: std::process::id(),
            cuda_device: seat.local_rank,
            nvml_device: seat.local_rank,
            host_hash: self.host_hash,
            pid_hash: self.pid_hash,
        }
    }

    /// The rank's entry for all others: an A100 with 80 GiB.
    #[must_use]
    pub fn peer_info(&self, seat: &Seat, comm_hash: u64, comm: u64, release: Release) -> PeerInfo {
        PeerInfo {
            rank: seat.rank,
            cuda_device: seat.local_rank,
            nvml_device: seat.local_rank,
            gdr_support: 0,
            host_hash: self.host_hash.wrapping_add(comm_hash),
            pid_hash: self.pid_hash.wrapping_add(comm_hash),
            shm_device: self.shm_device,
            bus_id: bus_id(seat.local_rank),
            comm,
            compute_capability: 80,
            fabric_version: 0x0200_0024,
            gpu_memory: 80 << 30,
            cu_mem_support: 1,
            version: release.version_code(),
        }
    }
}

/// The bus id of a host's GPU, packed as NCCL packs it: `0x1b000` for `0000:1b:00.0`.
#[must_use]
pub fn bus_id(local_rank: u32) -> u64 {
    let bus = 0x1b + u64::from(local_rank % 8) * 0x1c;
    bus << 12
}

/// The bus id as the kernel writes it.
#[must_use]
pub fn bus_id_text(local_rank: u32) -> String {
    format!("0000:{:02x}:00.0", bus_id(local_rank) >> 12)
}
