//! What live tests run railscope in and against: hosts in network namespaces, agents, and databases
//! that scrape them. The suite and `cargo xtask` use it; everything ends with its handle.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a step that fails ends the test")]

pub mod agent;
pub mod alertmanager;
pub mod broken;
pub mod clock;
pub mod data_base;
pub mod fabric;
pub mod http;
pub mod pace;
pub mod prometheus;
pub mod tcpdump;
