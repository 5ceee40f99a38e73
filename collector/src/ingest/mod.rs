//! The sources of frames: they deliver bytes and know nothing of what is in them.

pub mod file;
