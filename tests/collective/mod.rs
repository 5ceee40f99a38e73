//! Collectives: what NCCL sends for them, and how they are recognised.

mod feeds;
mod job;
mod phases;
mod plan;
mod point_to_point;
mod search;
mod sends;
mod stragglers;
mod waits;
