//! The boards, one file each.

mod agents;
mod fabric;
mod hang;
mod host;
mod job;
mod rails;
mod shared;
mod uid;

use super::model::dashboard::Dashboard;

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
