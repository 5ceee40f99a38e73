//! Collectives: what NCCL sends for them, and how they are recognised.

mod job;
mod phases;
mod plan;
mod search;
mod stragglers;
mod waits;
