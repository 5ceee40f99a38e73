//! What a job requests of the network, and what the network reports to it.

use std::sync::Arc;

use super::id::NicId;
use super::packet::Ecn;

/// A queue pair. Numbers are unique per NIC only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePairId {
    /// The NIC that owns it.
    pub nic: NicId,
    /// Its number.
    pub qpn: u32,
}

/// Connection options: what `ibv_modify_qp` sets.
#[derive(Clone, Copy, Debug)]
pub struct QueuePairOptions {
    /// UDP source port in both directions; chooses the path.
    pub udp_source_port: u16,
    /// DSCP of WRITEs and ACKs.
    pub dscp: u8,
    /// ECN of WRITEs and ACKs, which share a traffic class; CNPs are Not-ECT.
    pub ecn: Ecn,
    /// Payload of a packet: 256 to 4096.
    pub mtu: u16,
    /// How long a requester waits for an ACK.
    pub timeout_ns: u64,
    /// Consecutive retries before it gives up.
    pub retries: u8,
}

/// An RDMA WRITE.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The poster's number for it.
    pub id: u64,
    /// Bytes of the message; may be 0.
    pub bytes: u32,
    /// Destination address.
    pub remote_address: u64,
    /// Key of the destination.
    pub rkey: u32,
    /// Immediate data; `None` for a plain WRITE.
    pub immediate: Option<u32>,
    /// The first bytes of the payload; all others are zero. No longer than the message or a packet.
    pub head: Option<Arc<[u8]>>,
}

/// An event for the job, at [`super::Network::now`].
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A timer of the job.
    Woken {
        /// The job's token.
        token: u64,
    },
    /// The first packet of a work request is sent for the first time.
    Started {
        /// The sender.
        at: QueuePairId,
        /// [`Work::id`].
        work: u64,
    },
    /// A work request was fully acknowledged.
    Sent {
        /// The sender.
        at: QueuePairId,
        /// [`Work::id`].
        work: u64,
    },
    /// All data of a work request is in memory. Real hosts notice it only if it has an immediate,
    /// or if they poll the memory.
    Received {
        /// The receiver.
        at: QueuePairId,
        /// Bytes of the message.
        bytes: u32,
        /// Destination address.
        remote_address: u64,
        /// Immediate of the message.
        immediate: Option<u32>,
        /// Head of the message.
        head: Option<Arc<[u8]>>,
    },
    /// Retries ran out: this work request may not have arrived, and its queue pair stops sending.
    Failed {
        /// The sender.
        at: QueuePairId,
        /// [`Work::id`].
        work: u64,
    },
}

/// Why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No NIC has this number.
    #[error("there is no NIC {}", .0.0)]
    NoNic(NicId),
    /// No queue pair has this number.
    #[error("NIC {} has no queue pair {}", .0.nic.0, .0.qpn)]
    NoQueuePair(QueuePairId),
    /// The queue pair has no peer.
    #[error("queue pair {} of NIC {} is not connected", .0.qpn, .0.nic.0)]
    NotConnected(QueuePairId),
    /// The queue pair has a peer.
    #[error("queue pair {} of NIC {} is already connected", .0.qpn, .0.nic.0)]
    Connected(QueuePairId),
    /// Retries ran out earlier.
    #[error("queue pair {} of NIC {} gave up", .0.qpn, .0.nic.0)]
    GaveUp(QueuePairId),
    /// An MTU that RoCE does not have.
    #[error("an MTU must be 256, 512, 1024, 2048 or 4096, not {0}")]
    Mtu(u16),
    /// A head that does not fit into the first packet.
    #[error("a head of {head} bytes does not fit into {room}")]
    Head {
        /// Its bytes.
        head: usize,
        /// The first packet's.
        room: u32,
    },
}
