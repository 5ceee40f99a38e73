//! [`Rdma`](super::Rdma) over libibverbs: the system's RDMA devices, hardware or soft-RoCE.
//!
//! [`inventory`] lists the ports, [`hca`] applies `NCCL_IB_HCA`, [`select`] chooses. The adapter
//! itself needs the feature `verbs`; without it [`VerbsAdapter::open`] fails, so callers need no
//! feature checks.

use std::net::IpAddr;

#[cfg(feature = "verbs")]
mod adapter;
#[cfg(feature = "verbs")]
mod event;
pub mod hca;
pub mod inventory;
#[cfg(not(feature = "verbs"))]
mod missing;
pub mod select;
#[cfg(feature = "verbs")]
mod status;
#[cfg(feature = "verbs")]
mod sys;

#[cfg(feature = "verbs")]
pub use adapter::VerbsAdapter;
#[cfg(not(feature = "verbs"))]
pub use missing::VerbsAdapter;

/// Which device, port and GID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerbsSettings {
    /// The rank's address.
    pub address: IpAddr,
    /// `NCCL_IB_HCA`, as NCCL spells it.
    pub hca: Option<String>,
    /// `NCCL_IB_GID_INDEX`; `None` uses the RoCE v2 GID of the rank's address.
    pub gid_index: Option<u8>,
}
