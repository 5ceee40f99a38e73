//! What the state of flows and taps means.
//!
//! [`understanding::understand`] is the only entry: it takes the [`state`] that earlier layers
//! gathered and returns all judgements. Every output shows only these.

pub mod bootstrap;
pub mod burst;
pub mod collective;
pub mod congestion;
pub mod exit;
pub mod finding;
pub mod hang;
pub mod iteration;
pub mod judged;
pub mod ledger;
pub mod line_rate;
pub mod lineage;
pub mod missed;
pub mod path;
pub mod phase;
pub mod port;
pub mod proxy;
pub mod queue_pair;
pub mod rank_figures;
pub mod rank_waits;
pub mod roll_call;
pub mod sampling;
pub mod severity;
pub mod state;
pub mod straggler;
pub mod tap;
pub mod understanding;
pub mod unlinked;
pub mod verdict;
pub mod wait;
