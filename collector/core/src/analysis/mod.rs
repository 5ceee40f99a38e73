//! What the state of flows and taps means.

pub mod collective;
pub mod finding;
pub mod iteration;
pub mod phase;
pub mod straggler;
pub mod wait;
