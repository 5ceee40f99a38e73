//! NCCL's profiler plugin of railscope: `libnccl-profiler-railscope.so`.
//!
//! NCCL calls it for each collective, each proxy operation and each transfer of one (a proxy step).
//! It reads the clock, subtracts, and puts records into a ring in shared memory; a thread of its own
//! writes them to a file if one is wanted. `docs/PROFILER.md` describes ring, file and records.
//!
//! On the path of a transfer there is no allocation, no lock that waits and no system call: slots
//! are static, a lane of the ring is taken only if it is free at once, and the clock is
//! `CLOCK_MONOTONIC` through the vDSO.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod abi;
mod collective;
mod communicator;
mod count;
mod event;
mod handle;
mod host;
mod kernel;
mod lease;
mod next;
mod operation;
mod output;
mod plugin;
mod record;
mod ring;
mod service;
mod settings;

pub mod entry;
