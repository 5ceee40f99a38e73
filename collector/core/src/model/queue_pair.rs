//! A queue pair as its host's kernel lists it.

use std::net::IpAddr;

use super::process::PodNames;
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
    /// The other end's number; `None` for datagrams and before it is connected.
    pub remote: Option<Qpn>,
    /// Its type.
    pub kind: QueuePairKind,
    /// Its state when the kernel was asked.
    pub state: QueuePairState,
    /// Who created it.
    pub owner: QueuePairOwner,
}

/// An entry of the kernel's list, with the name of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedQueuePair {
    /// The entry.
    pub pair: HostQueuePair,
    /// Name of the process; `None` for the kernel's own and where the list has none.
    pub process: Option<String>,
    /// Addresses of its port; empty if unknown.
    pub addresses: Vec<IpAddr>,
}

/// Queue pairs of one port that belong to processes of one name, container and job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePairUser {
    /// RDMA device.
    pub device: String,
    /// Port of the device; `None` before a queue pair is bound to one.
    pub port: Option<u32>,
    /// Name of the processes.
    pub process: String,
    /// UID of their Kubernetes pod.
    pub pod: Option<String>,
    /// Names of their pod and container.
    pub pod_names: Option<PodNames>,
    /// Their Slurm job.
    pub slurm_job: Option<u32>,
    /// Its name.
    pub slurm_job_name: Option<String>,
}

/// Who created a queue pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueuePairOwner {
    /// A process, by PID in the host's namespace.
    Process(u32),
    /// A kernel component, by name.
    Kernel(String),
    /// The kernel does not say.
    Unknown,
}

/// Queue pair types (Linux `enum ib_qp_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePairKind {
    /// Subnet management, which RoCE does not use.
    SubnetManagement,
    /// Connection management.
    GeneralManagement,
    /// Reliable connection: what NCCL uses.
    ReliableConnection,
    /// UC: no acknowledgements.
    UnreliableConnection,
    /// UD: one queue pair for many peers.
    UnreliableDatagram,
    /// A device-specific type: EFA's SRD, mlx5's dynamically connected ones.
    Driver,
    /// Another type, by number.
    Other(u8),
}

/// Queue pair states (InfiniBand Architecture Specification volume 1, 10.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueuePairState {
    /// Created.
    Reset,
    /// Accepts receive requests.
    Init,
    /// Receives.
    ReadyToReceive,
    /// RTS: sends and receives.
    ReadyToSend,
    /// Sending is suspended.
    SendQueueDrained,
    /// A send failed.
    SendQueueError,
    /// It failed.
    Error,
}

impl QueuePairKind {
    /// The type with Linux's number.
    #[must_use]
    pub const fn from_number(number: u8) -> Self {
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

    /// The type that `rdma resource` (iproute2) calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let known = [
            Self::SubnetManagement,
            Self::GeneralManagement,
            Self::ReliableConnection,
            Self::UnreliableConnection,
            Self::UnreliableDatagram,
            Self::Driver,
        ];
        known.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether NCCL uses this type: reliable connections or, with EFA's plugin, the device's own.
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
    /// The state with Linux's number (`enum ib_qp_state`), if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
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

    /// The state that `rdma resource` (iproute2) calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        (0..7).filter_map(Self::from_number).find(|state| state.name() == name)
    }

    /// Whether it failed: it neither sends nor receives.
    #[must_use]
    pub const fn has_failed(self) -> bool {
        matches!(self, Self::Error | Self::SendQueueError)
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
