//! The AllReduce driver: a training job in small that loads a fabric and writes down what it did.
//!
//! Ranks meet in a store, bootstrap as NCCL does, connect rings and reduce real numbers over
//! RoCEv2 or TCP. What they truly did goes to a truth file, with which `cargo xtask score` compares
//! what railscope found out from the packets. So the driver is the oracle: it names no other module
//! of railscope, and its encoders are its own. Both would have to be wrong alike.
//!
//! [`release`] and [`job`] say what to do. [`collective`] is the schedule and the arithmetic, [`net`]
//! moves messages as NCCL's network plugins do, [`rdma`] is the queue pairs under them. [`truth`] is
//! the record of it, [`report`] what a rank tells meanwhile.

#![cfg(target_os = "linux")]

pub mod bootstrap;
pub mod capture;
pub mod clock;
pub mod collective;
pub mod error;
pub mod fault;
pub mod job;
pub mod launch;
pub mod nccl_log;
pub mod net;
pub mod place;
pub mod rank;
pub mod rdma;
pub mod release;
pub mod report;
pub mod simulate;
pub mod store;
pub mod table;
pub mod tcp;
pub mod truth;
pub mod units;
pub mod wire;
pub mod workload;

pub use error::{DriveError, Result};
