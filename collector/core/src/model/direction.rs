//! Direction of a frame at the interface where it was captured, if known.

use serde::{Deserialize, Serialize};

/// Direction of a frame as the capturing interface saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// Towards the host that captured it.
    Received,
    /// Away from the host that captured it.
    Sent,
}
