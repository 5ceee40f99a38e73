//! The agent: its settings, its sources, its pages, what it reports about a job, and how it ends.

mod check;
mod config;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod receivers;
mod server;
mod source;
#[cfg(all(target_os = "linux", feature = "drive", feature = "otlp"))]
mod traces;
