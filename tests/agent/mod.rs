//! The agent: its settings, its pages, its report on a job, and how it ends.

mod asked_for;
mod config;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod receivers;
mod server;
