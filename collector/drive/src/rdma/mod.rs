//! Reliable RDMA connections, as far as NCCL's NET/IB uses them.
//!
//! [`Rdma`] is what a network adapter offers to one process; NET/IB is written against it.

pub mod soft;

use std::time::Duration;

use super::Result;

pub mod verbs;

/// A network adapter of this process: registered memory, RC queue pairs, and one completion queue
/// for all of them.
pub trait Rdma {
    /// The adapter and its port.
    fn device(&self) -> &Device;

    /// Allocates memory that peers may write into; zeroed, page-aligned, registered until the end.
    ///
    /// # Errors
    /// The adapter or the operating system refuses.
    fn register(&mut self, bytes: usize) -> Result<Region>;

    /// The content of a region. Peers write into it while work that names it is outstanding: read
    /// only what a completion has covered.
    fn memory(&self, region: RegionId) -> &[u8];

    /// Copies memory that a peer may be writing, from byte `offset` on: aligned groups of 8 bytes
    /// are consistent. For adapters whose peers write only during polls, it is [`Rdma::memory`].
    fn peek(&self, region: RegionId, offset: usize, into: &mut [u8]) {
        if let Some(found) = self.memory(region).get(offset..offset + into.len()) {
            into.copy_from_slice(found);
        }
    }

    /// As [`Rdma::memory`], mutable.
    fn memory_mut(&mut self, region: RegionId) -> &mut [u8];

    /// Creates a queue pair in state INIT that allows remote writes; returns its 24-bit number.
    ///
    /// # Errors
    /// The adapter refuses.
    fn create_queue_pair(&mut self) -> Result<u32>;

    /// Moves a queue pair to RTR and RTS, with both PSNs 0.
    ///
    /// # Errors
    /// The adapter refuses, for instance because there is no route to the remote GID.
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

    /// Lets the adapter work, waits at most `wait` for an event, and appends completions. Returns
    /// at once if there are completions already.
    ///
    /// # Errors
    /// The whole adapter failed. Failed work is a [`Completion`] with an error.
    fn poll(&mut self, completions: &mut Vec<Completion>, wait: Duration) -> Result<()>;
}

/// An adapter and its port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The name from `ibv_get_device_name`: `mlx5_0`, `rxe0`; `soft0` for the driver's own.
    pub name: String,
    /// Port number, from 1.
    pub port: u8,
    /// The address it sends from; IPv4 is mapped: `::ffff:10.0.0.1`.
    pub gid: [u8; 16],
    /// Index in the port's GID table.
    pub gid_index: u8,
    /// Largest payload of a packet, 256 to 4096 bytes.
    pub mtu: u16,
    /// Speed in Mbit/s, for NCCL's log.
    pub speed: u32,
}

/// Registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Identifies the region in calls of [`Rdma`].
    pub id: RegionId,
    /// Start address for peers.
    pub address: u64,
    /// Key for peers.
    pub rkey: u32,
    /// Key for this side; only logs show it.
    pub lkey: u32,
}

/// Index of a region in its adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegionId(pub usize);

/// The other end of a connection, and the attributes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Its queue pair.
    pub qpn: u32,
    /// Its address.
    pub gid: [u8; 16],
    /// Path MTU in bytes.
    pub mtu: u16,
    /// The IP header's byte with DSCP and ECN: `NCCL_IB_TC`.
    pub traffic_class: u8,
    /// `NCCL_IB_TIMEOUT`: a timeout is 4.096 us · 2^timeout without an answer.
    pub timeout: u8,
    /// `NCCL_IB_RETRY_CNT`.
    pub retries: u8,
}

/// RDMA WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Returned in the completion.
    pub id: u64,
    /// Source region.
    pub region: RegionId,
    /// Offset in the region.
    pub offset: usize,
    /// Size in bytes; may be 0.
    pub bytes: usize,
    /// Destination address.
    pub remote_address: u64,
    /// Key of the destination.
    pub rkey: u32,
    /// The immediate's four bytes, in wire order.
    pub immediate: Option<[u8; 4]>,
}

/// Completed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The queue pair.
    pub qpn: u32,
    /// The id given in [`Write::id`] or to [`Rdma::post_receive`].
    pub id: u64,
    /// What completed, or why it failed.
    pub outcome: std::result::Result<Done, String>,
    /// When its first and last packet passed this port, in ns of `CLOCK_REALTIME`, if the adapter
    /// knows. A write's last packet is its acknowledgement.
    pub packets_ns: Option<(u64, u64)>,
}

/// Successful work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A write was acknowledged.
    Written,
    /// A write with immediate was received.
    Received {
        /// The immediate's four bytes, in wire order.
        immediate: [u8; 4],
        /// Bytes written by the message.
        bytes: u32,
    },
}
