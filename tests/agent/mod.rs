//! The agent: its settings, its pages, what it says of a job, and how it ends.

mod config;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod receivers;
mod server;
