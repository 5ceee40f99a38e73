//! Why there is no ring.

use std::io;
use std::path::PathBuf;

/// A folder that cannot be a ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// It cannot be created or written to.
    #[error(
        "ring {}: {source}; choose a folder on a local disk that this user may write to: --ring DIR",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Others may write to it.
    #[error(
        "ring {}: others may write to it (mode {mode:o}), and replace its files: chmod 700 it, or choose another \
         with --ring DIR", path.display()
    )]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Another capture has it.
    #[error(
        "ring {}: another capture writes to it; give each its own: --ring DIR",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}
