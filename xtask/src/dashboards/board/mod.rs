//! The boards, one file each.

mod agents;
mod fabric;
mod hang;
mod host;
mod job;
mod rails;
mod shared;

use super::model::dashboard::Dashboard;

/// Uids of the boards, which are also the names of their files.
pub(super) const FABRIC: &str = "railscope-fabric";
pub(super) const JOB: &str = "railscope-job";
pub(super) const RAILS: &str = "railscope-rails";
pub(super) const HOST: &str = "railscope-host";
pub(super) const HANG: &str = "railscope-hang";
pub(super) const AGENTS: &str = "railscope-agents";

/// All boards.
pub(super) fn all() -> Vec<Dashboard> {
    vec![
        fabric::board(),
        job::board(),
        rails::board(),
        host::board(),
        hang::board(),
        agents::board(),
    ]
}
