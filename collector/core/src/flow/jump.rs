//! A sender that goes back in its PSNs.

use serde::{Deserialize, Serialize};

use crate::model::time::Timestamp;

/// The sender went back to an earlier PSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jump {
    /// The PSN it went back to, unwrapped.
    pub target: i64,
    /// When that packet was seen again.
    pub time: Timestamp,
    /// When this PSN was found missing; `None` if it had been seen.
    pub hole_opened: Option<Timestamp>,
    /// When the sender's previous packet passed.
    pub previous_request: Timestamp,
}
