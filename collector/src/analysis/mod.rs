//! What the state of flows and taps means.

pub mod collective;
pub mod phase;
