//! railscope reads RoCEv2 traffic of AI training clusters, follows every queue pair packet by
//! packet, and reports what is wrong with it.
//!
//! What it understands of that is in [`railscope_core`], which reads no clock, file, socket or
//! environment. Here are its edges: [`config`] (the settings file), [`ingest`] (bytes in), [`live`] (from live sources to reports),
//! [`export`] (reports out), `agent` (stays on a training node) and [`cli`].

pub mod config;
pub mod ingest;
pub mod live;
pub mod export;
#[cfg(all(target_os = "linux", feature = "agent"))]
pub mod agent;
pub mod cli;
