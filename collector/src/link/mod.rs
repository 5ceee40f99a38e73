//! Which communicator, rank, channel and peer traffic belongs to, and what says so.
//!
//! `control/` reads the control plane from TCP streams into facts, `log/` the lines of NCCL's logs;
//! `job.rs` has what the facts, the data plane and the logs amount to.

pub mod evidence;
pub mod control;
pub mod job;
pub mod log;
