//! Collectives: what NCCL sends for them, and how they are found again.

mod job;
mod phases;
mod plan;
mod search;
// Where the time of a collective goes.
mod waits;
