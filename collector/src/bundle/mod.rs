//! Bundles: everything of one job in one file that travels, `job.railscope.tar.zst`.
//!
//! ```text
//! zstd( tar( manifest.json | capture/001-host3.pcapng | nccl_log/002-nccl.log | .. | report.json ) )
//! ```
//!
//! The manifest comes first and lists every other member with role, size and SHA-256, so a reader
//! knows what is to come before it takes anything, and notices what is damaged or missing.
//!
//! What is unpacked goes into files without a name in the folder for temporary files: nothing in an
//! archive chooses a path, and the system removes them when the process ends, however it ends.

pub mod error;
pub mod manifest;
pub mod read;
pub mod write;
