//! What a training node knows of itself: counters of its NICs, against trees with the real names of
//! each vendor, and against the kernel of this machine.

mod counters;
mod netdevs;
