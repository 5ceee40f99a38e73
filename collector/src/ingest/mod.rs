//! The sources of frames and lines: they deliver bytes and know nothing of what is in them.

pub mod file;
pub mod log;
