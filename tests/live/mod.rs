//! Live use against what captures of the same traffic give.

// The demo, as root and as anybody.
mod demo;
#[cfg(feature = "live")]
mod ebpf;
// Packet sockets on real interfaces.
mod interfaces;
#[cfg(feature = "live")]
mod kernel_log;
mod kept;
// Frames written as a capture.
mod record;
mod recorded;
mod runs;
// The view of `watch`, character by character.
#[cfg(feature = "tui")]
mod screen;
mod table;
// Lines and the view, as a user runs them.
mod watch;
// A window on a job.
mod window;
