//! A training node's own data: counters of its NICs (trees with each vendor's real names), its
//! processes, and the sources that can run. The same for this machine.

mod capabilities;
mod counters;
mod netdevs;
mod processes;
#[cfg(feature = "live")]
mod queue_pairs;
