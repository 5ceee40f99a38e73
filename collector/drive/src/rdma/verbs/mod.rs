//! [`Rdma`](super::Rdma) over libibverbs: RDMA devices of the system, hardware or soft-RoCE.
//!
//! [`inventory`] is what there is, [`hca`] what `NCCL_IB_HCA` lets through, [`select`] the choice.
//! The adapter itself needs the feature `verbs`; without it [`VerbsAdapter::open`] says so, and
//! callers need to know nothing of it.

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
    /// `NCCL_IB_GID_INDEX`; else the RoCE v2 GID of the rank's address.
    pub gid_index: Option<u8>,
}
