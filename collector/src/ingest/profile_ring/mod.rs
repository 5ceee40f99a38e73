//! Rings of NCCL's profiler plugin in running processes: found, and copied from.
//!
//! A process of any user made what is read here. A ring is read with `pread`, never mapped: its owner may
//! cut it at any time.

mod file;
mod opener;
mod search;

pub use file::RingFile;
pub use search::{FoundRing, RingSearch};
