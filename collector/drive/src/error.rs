//! Why the driver failed.

use std::io;
use std::time::Duration;

/// An error that names what failed and what to do.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// A system call failed.
    #[error("{what}: {cause}")]
    Io {
        /// What the driver attempted: `listen at 10.0.0.1:29500`.
        what: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A deadline passed.
    #[error("{what} did not come within {waited:?}")]
    Late {
        /// What did not arrive: `rank 2 of 4`.
        what: String,
        /// The time limit.
        waited: Duration,
    },
    /// A rank closed its connections or stopped responding.
    #[error("{peer} went away while {during}")]
    PeerLost {
        /// The rank: `rank 2 at 10.0.0.3`.
        peer: String,
        /// The activity: `reducing bucket 1 of iteration 3`.
        during: String,
    },
    /// A peer sent something unexpected.
    #[error("{peer} sent {what}")]
    Protocol {
        /// Who sent it: `rank 2 at 10.0.0.3`.
        peer: String,
        /// What is wrong.
        what: String,
    },
    /// A missing requirement or an impossible request; the text says what to do.
    #[error("{0}")]
    Unusable(String),
}

/// What the driver's functions return.
pub type Result<T> = std::result::Result<T, DriveError>;

impl DriveError {
    /// Adds what was attempted to a system error: `.map_err(DriveError::io("bind"))`.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Self::Io { what, cause }
    }
}
