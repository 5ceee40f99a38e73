//! One rank's adapter, as its links use it.

use std::net::IpAddr;

use crate::job::IbSettings;
use crate::release::Release;

/// What links need to know of this rank.
#[derive(Debug)]
pub(super) struct Local<R> {
    pub(super) rdma: R,
    pub(super) release: Release,
    pub(super) settings: IbSettings,
    /// TCP address to listen at and connect from.
    pub(super) address: IpAddr,
}
