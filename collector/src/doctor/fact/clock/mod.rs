//! How well the node's clock follows a reference, as the kernel knows it (adjtimex(2)).

mod sys;

use crate::doctor::tree::{Known, Missing, Tree};

/// The clock of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Whether a daemon disciplines it.
    pub is_synchronised: bool,
    /// The largest error that the daemon vouches for, microseconds.
    pub max_error_us: i64,
    /// The error that the daemon estimates, microseconds.
    pub estimated_error_us: i64,
}

impl Clock {
    /// Asks the kernel.
    ///
    /// # Errors
    ///
    /// Where seccomp forbids the call, and below another root.
    pub(super) fn read(tree: &Tree) -> Known<Self> {
        let what = "synchronisation of the clock (adjtimex)";
        tree.of_running_system(what)?;
        sys::ask().map_err(|error| Missing::of_error(what, &error.into()))
    }
}
