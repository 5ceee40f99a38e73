//! When and where something was seen.

use serde::{Deserialize, Serialize};

use crate::model::time::Timestamp;

/// When something was first seen, and in which frame of the tap's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// When.
    pub time: Timestamp,
    /// Number of the frame, from 1.
    pub frame: u64,
}
