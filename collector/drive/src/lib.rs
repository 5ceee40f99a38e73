//! The AllReduce driver: a small training job that loads a fabric and records what it did.
//!
//! Ranks meet in a store, bootstrap as in NCCL, connect rings and reduce real numbers over RoCEv2
//! or TCP. What they truly did goes to a truth file; `cargo xtask score` compares it with what
//! railscope found in the packets. The driver is the oracle: it uses no other crate of railscope,
//! and its encoders are its own. Both would have to be wrong in the same way.
//!
//! [`release`] and [`job`] define what to do. [`collective`] is the schedule and the arithmetic,
//! [`net`] moves messages as NCCL's network plugins do, [`rdma`] is the queue pairs below.
//! [`pfc`] is pause between ports. [`truth`] is the record, [`report`] what a rank reports meanwhile,
//! [`profiler`] a plugin of NCCL's that watches it.

#![cfg(target_os = "linux")]

pub mod bootstrap;
pub mod capture;
pub mod clock;
pub mod collective;
pub mod error;
pub mod fault;
pub mod job;
pub mod launch;
pub mod layout;
pub mod nccl_log;
pub mod net;
mod packet_socket;
pub mod pfc;
pub mod place;
pub mod profiler;
pub mod rank;
pub mod rdma;
pub mod release;
pub mod report;
pub mod simulate;
pub mod store;
pub mod table;
pub mod tcp;
#[cfg(feature = "otlp")]
pub mod telemetry;
pub mod truth;
pub mod units;
pub mod wire;
pub mod workload;

pub use error::{DriveError, Result};
