//! What the state of flows and taps means.
//!
//! [`understanding::understand`] is the only entry: it takes the [`state`] that earlier layers
//! gathered and returns all judgements. Every output shows only these.

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
pub mod state;
pub mod straggler;
pub mod understanding;
pub mod wait;
