//! railscope reads RoCEv2 traffic of AI training clusters, follows every queue pair packet by
//! packet, and reports what is wrong with it.
//!
//! What it understands of that is in [`railscope_core`], which reads no clock, file, socket or
//! environment. Here are its edges: [`ingest`] (bytes in), [`filter`] (which packets), [`trigger`] (what a recording waits for), [`live`] (from live sources to reports), [`part`] (captures reduced to what is judged),
//! `doctor` (is a node fit for a job), [`export`] (reports out), `record` (every frame to disk), `ping` (hosts that measure each other), `agent` (stays on a training node) and [`cli`]; the last two read
//! [`config`] (the settings file), whose values are spelt as [`units`] has them. Foreign text leaves as [`printable`] has it; [`socket_file`] is what listens at a path. `heap` gives freed memory back.

pub mod bundle;
pub mod config;
pub mod filter;
mod heap;
pub mod ingest;
pub mod live;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod doctor;
pub mod export;
#[cfg(target_os = "linux")]
pub mod ping;
#[cfg(target_os = "linux")]
pub mod record;
#[cfg(all(target_os = "linux", feature = "agent"))]
pub mod agent;
pub mod cli;
pub mod part;
pub mod printable;
pub mod scrub;
#[cfg(target_os = "linux")]
pub mod socket_file;
pub mod trigger;
pub mod units;
