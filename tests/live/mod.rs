//! Live use, against captures of the same traffic.

mod demo;
mod ended;
#[cfg(feature = "live")]
mod ebpf;
mod interfaces;
#[cfg(feature = "live")]
mod kernel_log;
mod kept;
mod mirrored;
mod record;
mod recorded;
mod runs;
#[cfg(feature = "tui")]
mod screen;
mod table;
mod watch;
mod window;
