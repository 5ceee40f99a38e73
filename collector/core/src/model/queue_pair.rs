//! A queue pair as the kernel of its host knows it.

use super::qpn::Qpn;

/// An entry of the kernel's list of queue pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostQueuePair {
    /// RDMA device, such as `mlx5_0`.
    pub device: String,
    /// Port of the device; `None` before it is bound to one.
    pub port: Option<u32>,
    /// Its number.
    pub local: Qpn,
    /// The number at the other end; `None` where it has none, of datagrams and before it is connected.
    pub remote: Option<Qpn>,
    /// What it is for.
    pub kind: QueuePairKind,
    /// Where it is in its life.
    pub state: QueuePairState,
    /// Whose it is.
    pub owner: QueuePairOwner,
}

/// Whose a queue pair is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueuePairOwner {
    /// A process.
    Process(u32),
    /// A part of the kernel, by its name.
    Kernel(String),
    /// The kernel does not tell.
    Unknown,
}

/// What a queue pair is for (Linux `enum ib_qp_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePairKind {
    /// Management of subnets, of which RoCE has none.
    SubnetManagement,
    /// Management: connections.
    GeneralManagement,
    /// Reliable connection: what NCCL uses.
    ReliableConnection,
    /// Unreliable connection.
    UnreliableConnection,
    /// Unreliable datagrams.
    UnreliableDatagram,
    /// A kind of the device's own: EFA's SRD, mlx5's dynamically connected ones.
    Driver,
    /// Another, by its number.
    Other(u8),
}

/// Where a queue pair is in its life (InfiniBand Architecture Specification volume 1, 10.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueuePairState {
    /// Made.
    Reset,
    /// It may take receive requests.
    Init,
    /// It receives.
    ReadyToReceive,
    /// It sends.
    ReadyToSend,
    /// It sends no more, for now.
    SendQueueDrained,
    /// A send failed.
    SendQueueError,
    /// It failed.
    Error,
}

impl QueuePairKind {
    /// The kind with Linux' number for it.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            0 => Self::SubnetManagement,
            1 => Self::GeneralManagement,
            2 => Self::ReliableConnection,
            3 => Self::UnreliableConnection,
            4 => Self::UnreliableDatagram,
            0xff => Self::Driver,
            other => Self::Other(other),
        }
    }

    /// Whether NCCL uses such queue pairs: reliable connections, with EFA's plugin the device's own.
    #[must_use]
    pub const fn may_be_nccls(self) -> bool {
        matches!(self, Self::ReliableConnection | Self::Driver)
    }

    /// The name that `rdma resource` (iproute2) prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SubnetManagement => "SMI",
            Self::GeneralManagement => "GSI",
            Self::ReliableConnection => "RC",
            Self::UnreliableConnection => "UC",
            Self::UnreliableDatagram => "UD",
            Self::Driver => "DRIVER",
            Self::Other(_) => "UNKNOWN",
        }
    }
}

impl QueuePairState {
    /// The state with Linux' number for it (`enum ib_qp_state`); `None` where there is none.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Reset),
            1 => Some(Self::Init),
            2 => Some(Self::ReadyToReceive),
            3 => Some(Self::ReadyToSend),
            4 => Some(Self::SendQueueDrained),
            5 => Some(Self::SendQueueError),
            6 => Some(Self::Error),
            _ => None,
        }
    }

    /// The name that `rdma resource` (iproute2) prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reset => "RESET",
            Self::Init => "INIT",
            Self::ReadyToReceive => "RTR",
            Self::ReadyToSend => "RTS",
            Self::SendQueueDrained => "SQD",
            Self::SendQueueError => "SQE",
            Self::Error => "ERR",
        }
    }
}
