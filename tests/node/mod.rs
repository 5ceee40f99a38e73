//! What a training node knows of itself: counters of its NICs, against trees with the real names of
//! each vendor, its processes and queue pairs; and the same of this machine.

mod counters;
#[cfg(feature = "agent")]
mod kubelet;
mod netdevs;
mod processes;
#[cfg(feature = "live")]
mod queue_pairs;
