//! Which communicator, rank, channel and peer traffic belongs to, with evidence.
//!
//! `control/` reads the control plane from TCP streams into facts, `log/` the lines of NCCL's logs;
//! `clock/` puts the taps' clocks onto one timeline, and `job.rs` is the result of facts, data
//! plane and logs.

pub mod evidence;
mod only;
pub mod position;
pub mod clock;
pub mod control;
pub mod job;
pub mod log;
pub mod counter;
pub mod process;
pub mod rail;
pub mod rank_ports;
pub mod rings;
pub mod roster_entry;
pub mod split;
pub mod roster;
pub mod tool;
pub mod traffic;
pub mod connect;
mod net_bootstrap;
mod sockets;
mod unannounced;
pub mod linker;
pub mod join;
