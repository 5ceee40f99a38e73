//! Bytes to values, stateless. Never panics. Of frames, it never allocates and never fails: a truncated
//! frame yields the layers that were read and why the next one was not. Of texts, `tool` holds an output
//! until it ends.
//!
//! Readers of the common path (Ethernet, VLAN, IP, UDP, RoCE) are `inline(always)`, rare ones are
//! never inlined and take their cursor by value. Cost: with plain `inline`, the cursor is in memory
//! and a frame takes more than twice as long (`benches/decode.rs`).

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

pub mod counter;
pub mod error;
pub mod flight_recorder;
pub mod frame;
pub mod job_log;
pub mod nccl;
pub mod nccl_log;
pub mod packet;
pub mod pause;
pub mod phrases;
pub mod profiler;
pub mod ras;
pub mod roce;
pub mod sflow;
pub mod tcp_store;
pub mod tool;
pub mod train_log;

mod cursor;
mod erf;
mod grh;
mod ip;
mod link;
mod lrh;
mod transport;
mod tunnel;
mod walk;
