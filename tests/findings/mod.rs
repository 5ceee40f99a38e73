//! Findings: each is reported where it applies, with its subject and cause, and nowhere else.

mod bootstrap;
mod command;
mod control_plane;
mod counters;
mod fabric;
mod path_mtu;
mod recorded;
pub(crate) mod scene;
mod transport;
