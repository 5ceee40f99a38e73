//! Collectives: what NCCL sends for them, and how they are found again.

mod job;
mod phases;
mod plan;
mod search;
// Who is named.
mod stragglers;
// Where the time of a collective goes.
mod waits;
