//! When and where something was seen.

use crate::model::time::Timestamp;
use serde::{Deserialize, Serialize};

/// When something was first seen, and in which frame of the tap's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// When.
    pub time: Timestamp,
    /// Number of the frame, from 1.
    pub frame: u64,
}
