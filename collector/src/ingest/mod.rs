//! The sources of frames and lines: they deliver bytes and know nothing of what is in them.

#[cfg(target_os = "linux")]
pub mod af_packet;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod ebpf;
pub mod file;
pub mod live;
pub mod log;
