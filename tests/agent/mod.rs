//! The agent: its settings, its sources, its pages, what it reports about a job, and how it ends.

mod check;
mod config;
#[cfg(target_os = "linux")]
mod confined;
#[cfg(target_os = "linux")]
mod ending;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod forgets;
#[cfg(target_os = "linux")]
mod live;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod limit;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod receivers;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod recording;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod replaced;
#[cfg(target_os = "linux")]
mod reload;
#[cfg(all(target_os = "linux", feature = "otlp"))]
mod secret_headers;
mod server;
#[cfg(target_os = "linux")]
mod service_manager;
#[cfg(target_os = "linux")]
mod socket;
mod source;
#[cfg(all(target_os = "linux", feature = "drive", feature = "otlp"))]
mod traces;
#[cfg(target_os = "linux")]
mod web_config;
