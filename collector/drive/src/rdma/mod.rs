//! Reliable connections of RDMA, as far as NCCL's NET/IB uses them.
//!
//! [`Rdma`] is what a network adapter offers to one process; NET/IB is written against it.

pub mod soft;

use std::time::Duration;

use super::Result;

pub mod verbs;

/// A network adapter of this process: registered memory, queue pairs of type RC, one completion
/// queue for all of them.
pub trait Rdma {
    /// The adapter and its port.
    fn device(&self) -> &Device;

    /// Allocates memory that peers may write into; zeroed, page-aligned, registered until the end.
    ///
    /// # Errors
    /// The adapter or the operating system refuses.
    fn register(&mut self, bytes: usize) -> Result<Region>;

    /// What a region holds. Peers write into it while work that names it is outstanding: read only
    /// what a completion has covered.
    fn memory(&self, region: RegionId) -> &[u8];

    /// Copies out of memory that a peer may be writing right now, from byte `offset` on: 8 bytes that
    /// are aligned are from one moment. Without a peer that writes while nobody polls, it is
    /// [`Rdma::memory`].
    fn peek(&self, region: RegionId, offset: usize, into: &mut [u8]) {
        if let Some(found) = self.memory(region).get(offset..offset + into.len()) {
            into.copy_from_slice(found);
        }
    }

    /// As [`Rdma::memory`], to fill.
    fn memory_mut(&mut self, region: RegionId) -> &mut [u8];

    /// Creates a queue pair in state INIT that allows remote writes; returns its number, 24 bits.
    ///
    /// # Errors
    /// The adapter refuses.
    fn create_queue_pair(&mut self) -> Result<u32>;

    /// Brings a queue pair to RTR and RTS, both PSNs 0.
    ///
    /// # Errors
    /// The adapter refuses, for instance for want of a route to the remote GID.
    fn connect(&mut self, qpn: u32, remote: &Remote) -> Result<()>;

    /// Posts RDMA WRITE or RDMA WRITE with immediate.
    ///
    /// # Errors
    /// The send queue is full or in error.
    fn post_write(&mut self, qpn: u32, write: &Write) -> Result<()>;

    /// Posts an empty receive, which one write with immediate consumes.
    ///
    /// # Errors
    /// The receive queue is full or in error.
    fn post_receive(&mut self, qpn: u32, id: u64) -> Result<()>;

    /// Lets the adapter work, waits at most `wait` for something to happen, and appends
    /// completions. Returns at once where some are there already.
    ///
    /// # Errors
    /// The adapter fails as a whole. Failed work is a [`Completion`] with an error.
    fn poll(&mut self, completions: &mut Vec<Completion>, wait: Duration) -> Result<()>;
}

/// An adapter and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// As `ibv_get_device_name` says: `mlx5_0`, `rxe0`; `soft0` for the driver's own.
    pub name: String,
    /// From 1.
    pub port: u8,
    /// The address it sends from; IPv4 is mapped: `::ffff:10.0.0.1`.
    pub gid: [u8; 16],
    /// Place of the GID in the port's table.
    pub gid_index: u8,
    /// Largest payload of one packet, bytes: 256 to 4096.
    pub mtu: u16,
    /// Mbit/s, as NCCL logs it.
    pub speed: u32,
}

/// Registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// For the calls of [`Rdma`].
    pub id: RegionId,
    /// Where it begins, as peers name it.
    pub address: u64,
    /// The key for peers.
    pub rkey: u32,
    /// The key for this side; only logs show it.
    pub lkey: u32,
}

/// Place of a region among those of an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionId(pub usize);

/// The other end of a connection, and how to treat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The queue pair there.
    pub qpn: u32,
    /// Its address.
    pub gid: [u8; 16],
    /// Largest payload that both ends take, bytes.
    pub mtu: u16,
    /// Byte of the IP header that holds DSCP and ECN: `NCCL_IB_TC`.
    pub traffic_class: u8,
    /// `NCCL_IB_TIMEOUT`: 4.096 us · 2^timeout without an answer is a timeout.
    pub timeout: u8,
    /// `NCCL_IB_RETRY_CNT`.
    pub retries: u8,
}

/// RDMA WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Comes back in the completion.
    pub id: u64,
    /// From where.
    pub region: RegionId,
    /// From this byte of it on.
    pub offset: usize,
    /// How many; may be 0.
    pub bytes: usize,
    /// To where.
    pub remote_address: u64,
    /// What allows it.
    pub rkey: u32,
    /// The four bytes of the immediate in the order of the wire.
    pub immediate: Option<[u8; 4]>,
}

/// Work that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Of this queue pair.
    pub qpn: u32,
    /// What [`Write::id`] or [`Rdma::post_receive`] said.
    pub id: u64,
    /// What ended, or why it failed.
    pub outcome: std::result::Result<Done, String>,
    /// When the first and the last packet of it passed this port, ns of `CLOCK_REALTIME`; where
    /// the adapter tells. The last packet of a write is the one that acknowledged it.
    pub packets_ns: Option<(u64, u64)>,
}

/// Work that has succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A write was acknowledged.
    Written,
    /// A write with immediate came.
    Received {
        /// The four bytes in the order of the wire.
        immediate: [u8; 4],
        /// What was written before it.
        bytes: u32,
    },
}
