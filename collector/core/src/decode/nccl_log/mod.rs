//! Lines of NCCL's log (`NCCL_DEBUG`), one at a time and stateless: writer, severity and meaning
//! (NCCL 2.12 to 2.30, `src/debug.cc` and its callers).
//!
//! ```text
//! bytes -clean-> text -entries-> Entry { origin, level, source, message }
//! ```
//!
//! Logs pass through pipes that add prefixes, colour lines, truncate them or join two of them, so
//! an entry is searched for anywhere in a line.

pub mod call;
pub mod communicator;
pub mod entry;
pub mod fault;
pub mod graph;
pub mod message;
pub mod network;
pub mod queue_pair;
pub mod topic;

mod clean;
mod words;

pub use clean::{clean, has_control};
pub use entry::entries;
