//! What the state of flows and taps means.
//!
//! [`understanding::understand`] is the one way in and out: it takes the [`state`] that the layers
//! before gathered, and returns everything that was judged. What is shown anywhere comes from there.

pub mod collective;
pub mod finding;
pub mod iteration;
pub mod judged;
pub mod ledger;
pub mod missed;
pub mod phase;
pub mod port;
pub mod queue_pair;
pub mod severity;
pub mod spread;
pub mod state;
pub mod straggler;
pub mod understanding;
pub mod wait;
