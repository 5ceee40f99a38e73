//! A call of NCCL or libibverbs that a process of this host makes.
//!
//! Calls of NCCL enqueue work: when a collective is called is when the process asks for it, not when
//! the GPU or the network does it (NCCL, "Blocking and non-blocking communicators", "CUDA stream
//! semantics").

use super::nccl::{CollectiveKind, UniqueId};
use super::qpn::Qpn;
use super::queue_pair::{QueuePairKind, QueuePairState};
use super::time::Timestamp;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Caller {
    /// The process, as its host numbers it.
    pub pid: u32,
    /// The thread, as its host numbers it.
    pub tid: u32,
    /// Its control group of version 2, by the kernel's number.
    pub cgroup: u64,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Who calls.
    pub caller: Caller,
    /// When the function was entered.
    pub time: Timestamp,
    /// How it returned; `None` of its beginning. Those functions whose results matter are told twice,
    /// the others only when they are entered.
    pub returned: Option<Returned>,
    /// The function and its arguments.
    pub action: Action,
}

/// How a function returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// When.
    pub time: Timestamp,
    /// It succeeded: `ncclSuccess`, or a pointer that is not null. A communicator that does not block
    /// may be still in progress then.
    pub is_success: bool,
    /// `ncclResult_t`; `None` of functions that return a pointer.
    pub code: Option<i32>,
}

/// A communicator as its process names it: an `ncclComm_t`. It means nothing to other processes, and
/// may be used again once the communicator is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommunicatorHandle(pub u64);

/// A queue pair as its process names it: a `struct ibv_qp *`. Numbers are a device's, and a process may
/// have several devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePairHandle(pub u64);

/// What is called. What could not be read, or is there only when the function returns, is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `ncclGetUniqueId`, `ncclCommGetUniqueId`.
    MakeUniqueId {
        /// The id.
        id: Option<UniqueId>,
    },
    /// `ncclCommInitRank`, `ncclCommInitRankConfig`, `ncclCommInitRankScalable`.
    Initialise {
        /// Ranks that the communicator is to have.
        nranks: u32,
        /// The caller's.
        rank: u32,
        /// What all ranks share; the first of several.
        id: Option<UniqueId>,
        /// How many ids there are.
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
        /// What is split.
        parent: CommunicatorHandle,
        /// Ranks with the same colour go together; `None` for those that go nowhere
        /// (`NCCL_SPLIT_NOCOLOR`).
        color: Option<u32>,
        /// Their order.
        key: i32,
        /// The new communicator.
        child: Option<CommunicatorHandle>,
    },
    /// `ncclCommShrink`.
    Shrink {
        /// What loses ranks.
        parent: CommunicatorHandle,
        /// How many.
        excluded: u32,
        /// The new communicator.
        child: Option<CommunicatorHandle>,
    },
    /// `ncclCommGrow`.
    Grow {
        /// What gains ranks; `None` in the new ones.
        parent: Option<CommunicatorHandle>,
        /// Ranks that the new communicator is to have.
        nranks: u32,
        /// The caller's, if it is new.
        rank: Option<u32>,
        /// What all ranks share; `None` in ranks that are there but the root.
        id: Option<UniqueId>,
        /// The new communicator.
        child: Option<CommunicatorHandle>,
    },
    /// The end of a communicator.
    End {
        /// Which.
        communicator: CommunicatorHandle,
        /// In which way.
        how: CommunicatorEnd,
    },
    /// `ncclCommUserRank`.
    AskRank {
        /// Which communicator.
        communicator: CommunicatorHandle,
        /// The caller's rank in it.
        rank: Option<u32>,
    },
    /// `ncclCommCount`.
    AskCount {
        /// Which communicator.
        communicator: CommunicatorHandle,
        /// Its ranks.
        nranks: Option<u32>,
    },
    /// A collective or one side of a transfer.
    Communicate(Communication),
    /// `ncclGroupStart`.
    GroupStart,
    /// `ncclGroupEnd`; what the group has is launched in the outermost one.
    GroupEnd,
    /// `ibv_create_qp`.
    CreateQueuePair {
        /// The new queue pair.
        queue_pair: Option<QueuePairHandle>,
        /// Its number.
        number: Option<Qpn>,
        /// What it is for.
        kind: Option<QueuePairKind>,
    },
    /// `ibv_modify_qp`.
    ModifyQueuePair {
        /// Which.
        queue_pair: QueuePairHandle,
        /// Its number.
        number: Option<Qpn>,
        /// What changes; `None` where it could not be read.
        change: Option<QueuePairChange>,
    },
    /// `ibv_destroy_qp`.
    DestroyQueuePair {
        /// Which.
        queue_pair: QueuePairHandle,
        /// Its number.
        number: Option<Qpn>,
    },
    /// `ibv_reg_mr`, `ibv_reg_mr_iova`, `ibv_reg_mr_iova2`, `ibv_reg_dmabuf_mr`.
    RegisterMemory {
        /// Where it begins; of a DMA buffer the offset in it.
        address: u64,
        /// Bytes.
        length: u64,
        /// What the other end asks for it with.
        remote_key: Option<u32>,
        /// It is a DMA buffer: a GPU's memory.
        is_dma_buffer: bool,
    },
    /// `ibv_dereg_mr`.
    DeregisterMemory {
        /// What the other end asked for it with.
        remote_key: Option<u32>,
    },
}

/// How a communicator ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommunicatorEnd {
    /// `ncclCommFinalize`: what was asked for is still done.
    Finalize,
    /// `ncclCommDestroy`.
    Destroy,
    /// `ncclCommAbort`: what is being done ends.
    Abort,
    /// `ncclCommRevoke`: what is being done ends, the communicator can be shrunk.
    Revoke,
}

/// A call that moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Communication {
    /// Which.
    pub function: Function,
    /// The communicator.
    pub communicator: CommunicatorHandle,
    /// Elements as in the call: those that each rank contributes, or gets of a ReduceScatter.
    pub elements: u64,
    /// What an element is; `None` for a type that later releases have.
    pub data_type: Option<DataType>,
    /// How elements are combined (`ncclRedOp_t`: 0 sum, 1 product, 2 maximum, 3 minimum, 4 average,
    /// others are made by the program); `None` where they are not.
    pub operation: Option<u32>,
    /// Root, or the other rank of a transfer; `None` of others.
    pub root_or_peer: Option<u32>,
    /// What is sent; `None` where there is nothing.
    pub send_buffer: Option<u64>,
    /// Where to; `None` where there is nothing.
    pub receive_buffer: Option<u64>,
    /// CUDA stream; `None` for the default one.
    pub stream: Option<u64>,
}

impl Communication {
    /// Bytes of [`Self::elements`]; `None` where the type is not known.
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
    /// The kind of collective, as traffic tells them.
    #[must_use]
    pub const fn kind(self) -> CollectiveKind {
        match self {
            Self::AllReduce => CollectiveKind::AllReduce,
            Self::ReduceScatter => CollectiveKind::ReduceScatter,
            Self::AllGather => CollectiveKind::AllGather,
            Self::AllToAll => CollectiveKind::AllToAll,
            Self::Broadcast => CollectiveKind::Broadcast,
            Self::Reduce => CollectiveKind::Reduce,
            // They are made of sends and receives.
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
    /// 8-bit integer without sign.
    Uint8,
    /// 32-bit integer.
    Int32,
    /// 32-bit integer without sign.
    Uint32,
    /// 64-bit integer.
    Int64,
    /// 64-bit integer without sign.
    Uint64,
    /// IEEE 754 half precision.
    Float16,
    /// IEEE 754 single precision.
    Float32,
    /// IEEE 754 double precision.
    Float64,
    /// bfloat16.
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

    /// The type with NCCL's number for it.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
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

/// What `ibv_modify_qp` changes (`struct ibv_qp_attr`); what its mask leaves out is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairChange {
    /// The new state.
    pub state: Option<QueuePairState>,
    /// Number of the queue pair at the other end.
    pub remote: Option<Qpn>,
    /// GID of the other end, network order.
    pub remote_gid: Option<[u8; 16]>,
    /// Index of the own GID.
    pub own_gid_index: Option<u8>,
    /// IP traffic class: DSCP and ECN.
    pub traffic_class: Option<u8>,
    /// Service level.
    pub service_level: Option<u8>,
    /// Path MTU, bytes.
    pub path_mtu: Option<u32>,
    /// Packet sequence number of the first packet sent.
    pub first_sent: Option<u32>,
    /// Packet sequence number of the first packet received.
    pub first_received: Option<u32>,
    /// Exponent of the time after which packets are sent again: 4.096 us * 2^this; 0 is never.
    pub timeout: Option<u8>,
    /// How often packets are sent again.
    pub retries: Option<u8>,
}
