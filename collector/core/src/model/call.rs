//! A call of NCCL or libibverbs by a process of this host.
//!
//! Calls of NCCL enqueue work: the time of a call is when the process requests the collective, not
//! when the GPU or the network executes it (NCCL, "Blocking and non-blocking communicators", "CUDA
//! stream semantics").

use super::nccl::{CollectiveKind, UniqueId};
use super::qpn::Qpn;
use super::queue_pair::{QueuePairKind, QueuePairState};
use super::time::Timestamp;

/// The thread that called, and its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The process, as its host numbers it.
    pub pid: u32,
    /// The thread, as its host numbers it.
    pub tid: u32,
    /// Its cgroup v2, by the kernel's number.
    pub cgroup: u64,
    /// Whose limits its calls count against: those of a user, or of a container of root.
    pub payer: u64,
}

/// A call of NCCL or libibverbs by a process of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Who called.
    pub caller: Caller,
    /// When the function was entered.
    pub time: Timestamp,
    /// How it returned; `None` when it is entered. Functions with results that matter are reported
    /// twice, the others only when they are entered.
    pub returned: Option<Returned>,
    /// The function and its arguments.
    pub action: Action,
}

/// How a function returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// When.
    pub time: Timestamp,
    /// Whether it succeeded: `ncclSuccess`, or a pointer that is not null. A non-blocking
    /// communicator may still be in progress then.
    pub is_success: bool,
    /// `ncclResult_t`; `None` for functions that return a pointer.
    pub code: Option<i32>,
}

/// A communicator's handle in its process: an `ncclComm_t`. It means nothing to other processes,
/// and may be reused once the communicator is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommunicatorHandle(pub u64);

/// A queue pair's handle in its process: a `struct ibv_qp *`. Queue pair numbers belong to a
/// device, and a process may have several devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePairHandle(pub u64);

/// The function called, with arguments. What could not be read, or exists only when the function
/// returns, is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `ncclGetUniqueId`, `ncclCommGetUniqueId`.
    MakeUniqueId {
        /// The new id; known on return.
        id: Option<UniqueId>,
    },
    /// `ncclCommInitRank`, `ncclCommInitRankConfig`, `ncclCommInitRankScalable`.
    Initialise {
        /// Ranks of the new communicator.
        nranks: u32,
        /// The caller's rank.
        rank: u32,
        /// The shared id; the first of several.
        id: Option<UniqueId>,
        /// Number of ids.
        ids: u32,
        /// The new communicator.
        communicator: Option<CommunicatorHandle>,
    },
    /// `ncclCommInitAll`: one process, a rank for each device.
    InitialiseAll {
        /// Ranks.
        devices: u32,
        /// The first one's communicator.
        first: Option<CommunicatorHandle>,
    },
    /// `ncclCommSplit`.
    Split {
        /// The communicator that is split.
        parent: CommunicatorHandle,
        /// Ranks of the same colour form a child; `None` for ranks that join none
        /// (`NCCL_SPLIT_NOCOLOR`).
        color: Option<u32>,
        /// Orders the ranks.
        key: i32,
        /// The new communicator.
        child: Option<CommunicatorHandle>,
    },
    /// `ncclCommShrink`.
    Shrink {
        /// The communicator that loses ranks.
        parent: CommunicatorHandle,
        /// Number of excluded ranks.
        excluded: u32,
        /// The new communicator.
        child: Option<CommunicatorHandle>,
    },
    /// `ncclCommGrow`.
    Grow {
        /// The communicator that gains ranks; `None` in the new ones.
        parent: Option<CommunicatorHandle>,
        /// Ranks of the new communicator.
        nranks: u32,
        /// The caller's rank, if it is new.
        rank: Option<u32>,
        /// The shared id; `None` in existing ranks other than the root.
        id: Option<UniqueId>,
        /// The new communicator.
        child: Option<CommunicatorHandle>,
    },
    /// The end of a communicator.
    End {
        /// The communicator that ends.
        communicator: CommunicatorHandle,
        /// By which function.
        how: CommunicatorEnd,
    },
    /// `ncclCommUserRank`.
    AskRank {
        /// The communicator in question.
        communicator: CommunicatorHandle,
        /// The caller's rank in it.
        rank: Option<u32>,
    },
    /// `ncclCommCount`.
    AskCount {
        /// The communicator in question.
        communicator: CommunicatorHandle,
        /// Its ranks.
        nranks: Option<u32>,
    },
    /// A collective or one side of a transfer.
    Communicate(Communication),
    /// `ncclGroupStart`.
    GroupStart,
    /// `ncclGroupEnd`; the outermost one launches the group.
    GroupEnd,
    /// `ibv_create_qp`.
    CreateQueuePair {
        /// The new queue pair.
        queue_pair: Option<QueuePairHandle>,
        /// Its QPN; known on return.
        number: Option<Qpn>,
        /// Its type.
        kind: Option<QueuePairKind>,
    },
    /// `ibv_modify_qp`.
    ModifyQueuePair {
        /// Handle of the queue pair.
        queue_pair: QueuePairHandle,
        /// Its QPN, if it could be read.
        number: Option<Qpn>,
        /// The changed attributes; `None` if they could not be read.
        change: Option<QueuePairChange>,
    },
    /// `ibv_destroy_qp`.
    DestroyQueuePair {
        /// Handle of the queue pair.
        queue_pair: QueuePairHandle,
        /// Its QPN, if it could be read.
        number: Option<Qpn>,
    },
    /// `ibv_reg_mr`, `ibv_reg_mr_iova`, `ibv_reg_mr_iova2`, `ibv_reg_dmabuf_mr`.
    RegisterMemory {
        /// Start address; for a DMA buffer the offset in it.
        address: u64,
        /// Bytes.
        length: u64,
        /// The R_Key for the other end.
        remote_key: Option<u32>,
        /// Whether it is a DMA buffer: a GPU's memory.
        is_dma_buffer: bool,
    },
    /// `ibv_dereg_mr`.
    DeregisterMemory {
        /// The R_Key for the other end.
        remote_key: Option<u32>,
    },
}

/// How a communicator ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommunicatorEnd {
    /// `ncclCommFinalize`: pending work is completed.
    Finalize,
    /// `ncclCommDestroy`.
    Destroy,
    /// `ncclCommAbort`: pending work is aborted.
    Abort,
    /// `ncclCommRevoke`: pending work is aborted, and the communicator can be shrunk.
    Revoke,
}

/// A call that moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Communication {
    /// The collective, or `ncclSend` or `ncclRecv`.
    pub function: Function,
    /// The communicator that it runs on.
    pub communicator: CommunicatorHandle,
    /// Elements in the call: each rank's input, or its output for ReduceScatter.
    pub elements: u64,
    /// Element type; `None` for a type of later releases.
    pub data_type: Option<DataType>,
    /// The reduction (`ncclRedOp_t`: 0 sum, 1 product, 2 maximum, 3 minimum, 4 average, others are
    /// created by the program); `None` without one.
    pub operation: Option<u32>,
    /// Root, or the other rank of a transfer, if there is one.
    pub root_or_peer: Option<u32>,
    /// Send buffer, if there is one.
    pub send_buffer: Option<u64>,
    /// Receive buffer, if there is one.
    pub receive_buffer: Option<u64>,
    /// CUDA stream; `None` for the default one.
    pub stream: Option<u64>,
}

impl Communication {
    /// Bytes of [`Self::elements`]; `None` if the type is unknown.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.elements.checked_mul(self.data_type?.bytes())
    }
}

/// Functions that move data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// `ncclAllReduce`.
    AllReduce,
    /// `ncclReduceScatter`.
    ReduceScatter,
    /// `ncclAllGather`.
    AllGather,
    /// `ncclAlltoAll` (2.28).
    AllToAll,
    /// `ncclBroadcast`, `ncclBcast`.
    Broadcast,
    /// `ncclReduce`.
    Reduce,
    /// `ncclGather` (2.28).
    Gather,
    /// `ncclScatter` (2.28).
    Scatter,
    /// `ncclSend`.
    Send,
    /// `ncclRecv`.
    Receive,
}

impl Function {
    /// The corresponding kind of collective in traffic.
    #[must_use]
    pub const fn kind(self) -> CollectiveKind {
        match self {
            Self::AllReduce => CollectiveKind::AllReduce,
            Self::ReduceScatter => CollectiveKind::ReduceScatter,
            Self::AllGather => CollectiveKind::AllGather,
            Self::AllToAll => CollectiveKind::AllToAll,
            Self::Broadcast => CollectiveKind::Broadcast,
            Self::Reduce => CollectiveKind::Reduce,
            // They consist of sends and receives.
            Self::Gather | Self::Scatter | Self::Send | Self::Receive => CollectiveKind::SendRecv,
        }
    }

    /// The name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllGather => "all_gather",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Send => "send",
            Self::Receive => "receive",
        }
    }
}

/// `ncclDataType_t` (NCCL `src/nccl.h.in`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataType {
    /// 8-bit integer.
    Int8,
    /// Unsigned 8-bit integer.
    Uint8,
    /// 32-bit integer.
    Int32,
    /// Unsigned 32-bit integer.
    Uint32,
    /// 64-bit integer.
    Int64,
    /// Unsigned 64-bit integer.
    Uint64,
    /// IEEE 754 half precision.
    Float16,
    /// IEEE 754 single precision.
    Float32,
    /// IEEE 754 double precision.
    Float64,
    /// bfloat16: 8 bits of exponent, 7 of mantissa.
    Bfloat16,
    /// 8-bit floating point, 4 bits of exponent (2.24).
    Float8E4m3,
    /// 8-bit floating point, 5 bits of exponent (2.24).
    Float8E5m2,
}

impl DataType {
    /// All, in NCCL's order.
    const ALL: [Self; 12] = [
        Self::Int8,
        Self::Uint8,
        Self::Int32,
        Self::Uint32,
        Self::Int64,
        Self::Uint64,
        Self::Float16,
        Self::Float32,
        Self::Float64,
        Self::Bfloat16,
        Self::Float8E4m3,
        Self::Float8E5m2,
    ];

    /// The type with NCCL's number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Int8 | Self::Uint8 | Self::Float8E4m3 | Self::Float8E5m2 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 => 8,
        }
    }
}

/// Attributes changed by `ibv_modify_qp` (`struct ibv_qp_attr`); those not in its mask are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairChange {
    /// The new state.
    pub state: Option<QueuePairState>,
    /// Number of the queue pair at the other end.
    pub remote: Option<Qpn>,
    /// GID of the other end, network order.
    pub remote_gid: Option<[u8; 16]>,
    /// Index of the own GID in the port's table.
    pub own_gid_index: Option<u8>,
    /// IP traffic class: DSCP and ECN.
    pub traffic_class: Option<u8>,
    /// InfiniBand service level; RoCE derives the PCP from it.
    pub service_level: Option<u8>,
    /// Path MTU, bytes.
    pub path_mtu: Option<u32>,
    /// Packet sequence number of the first packet sent.
    pub first_sent: Option<u32>,
    /// Packet sequence number of the first packet received.
    pub first_received: Option<u32>,
    /// Exponent of the ACK timeout: 4.096 us * 2^this; 0 is never.
    pub timeout: Option<u8>,
    /// Number of retries.
    pub retries: Option<u8>,
}
