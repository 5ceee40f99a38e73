//! Why the driver gave up.

use std::io;
use std::time::Duration;

/// What went wrong, in words that name the thing and the way out.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The operating system refused.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried: `listen at 10.0.0.1:29500`.
        what: String,
        /// What it said.
        cause: io::Error,
    },
    /// Nothing happened in time.
    #[error("{what} did not come within {waited:?}")]
    Late {
        /// What was waited for: `rank 2 of 4`.
        what: String,
        /// For how long.
        waited: Duration,
    },
    /// A rank closed its connections or stopped answering.
    #[error("{peer} went away while {during}")]
    PeerLost {
        /// Who: `rank 2 at 10.0.0.3`.
        peer: String,
        /// What was going on: `reducing bucket 1 of iteration 3`.
        during: String,
    },
    /// A peer sent what nothing expects there.
    #[error("{peer} sent {what}")]
    Protocol {
        /// Who.
        peer: String,
        /// What is wrong with it.
        what: String,
    },
    /// Something that the driver needs is not here, or was asked for in a way that cannot work;
    /// the text names the way out.
    #[error("{0}")]
    Unusable(String),
}

/// What the driver's functions return.
pub type Result<T> = std::result::Result<T, DriveError>;

impl DriveError {
    /// Says what was tried when the operating system refused: `.map_err(DriveError::io("bind"))`.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |cause| Self::Io { what, cause }
    }
}
