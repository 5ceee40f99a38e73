//! Where ranks listen: what the first gathers over the ring hold (NCCL `src/bootstrap.cc`).
//!
//! 2.21.5 gathers one thing after the other: the listener for other ranks (28 bytes), that of the
//! proxy (28), the number of the proxy's Unix socket (8). 2.27.7 gathers `struct bootstrapRingData`
//! of 120 bytes: these at 0, 28 and 56, and `struct rasRankInit` at 64: address at 0 of it, PID at
//! 28, CUDA device at 32, NVML device at 36, hashes of host and process at 40 and 48 (without
//! commHash). With `NCCL_RAS_ENABLE=0` it stays zero.

use std::net::SocketAddr;

use super::Parsed;
use super::image::{Fields, Image};

/// Size of `struct bootstrapRingData`.
pub const BYTES: usize = 120;

const RAS: usize = 64;

/// One rank's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingData {
    /// Listener for messages of other ranks.
    pub peer_listener: SocketAddr,
    /// Listener of the proxy, for ranks of the same host.
    pub proxy_listener: SocketAddr,
    /// Number in the name of the proxy's Unix socket.
    pub unix_socket: u64,
    /// `None` if RAS is off.
    pub ras: Option<RasRank>,
}

/// `struct rasRankInit` (`src/include/ras.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RasRank {
    /// Listener for other RAS threads.
    pub listener: SocketAddr,
    /// PID in the rank's PID namespace.
    pub pid: u32,
    /// Its GPU, numbered by CUDA.
    pub cuda_device: u32,
    /// Its GPU, numbered by NVML.
    pub nvml_device: u32,
    /// Hash of host name and boot id.
    pub host_hash: u64,
    /// Hash of the process.
    pub pid_hash: u64,
}

impl RingData {
    /// The bytes that 2.27.7 gathers.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let image = Image::new(BYTES).address(0, self.peer_listener);
        let image = image.address(28, self.proxy_listener).u64(56, self.unix_socket);
        let Some(ras) = &self.ras else { return image.into_bytes() };
        let image = image.address(RAS, ras.listener).u32(RAS + 28, ras.pid);
        let image = image.u32(RAS + 32, ras.cuda_device).u32(RAS + 36, ras.nvml_device);
        image.u64(RAS + 40, ras.host_hash).u64(RAS + 48, ras.pid_hash).into_bytes()
    }

    /// # Errors
    /// Another length, or no addresses.
    pub fn parse(bytes: &[u8]) -> Parsed<Self> {
        let fields = Fields::new(bytes, BYTES, "ring data")?;
        let (Some(peer_listener), Some(proxy_listener)) = (fields.address(0), fields.address(28))
        else {
            return Err("ring data without addresses".to_owned());
        };
        let ras = fields.address(RAS).map(|listener| RasRank {
            listener,
            pid: fields.u32(RAS + 28),
            cuda_device: fields.u32(RAS + 32),
            nvml_device: fields.u32(RAS + 36),
            host_hash: fields.u64(RAS + 40),
            pid_hash: fields.u64(RAS + 48),
        });
        Ok(Self { peer_listener, proxy_listener, unix_socket: fields.u64(56), ras })
    }
}
