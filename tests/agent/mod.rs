//! The agent: its settings, its pages, what it says of a job, and how it ends.

// What the settings ask for in vain, at the start and in a running agent.
mod asked_for;
mod config;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod receivers;
mod server;
