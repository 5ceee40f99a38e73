//! Lines of NCCL's log (`NCCL_DEBUG`), one at a time and stateless: who wrote it, how loud, what it
//! says (NCCL 2.12 to 2.30, `src/debug.cc` and the places that call it).
//!
//! ```text
//! bytes -clean-> text -entries-> Entry { origin, level, source, message }
//! ```
//!
//! Logs reach people through pipes that put prefixes before a line, colour it, cut it or glue two
//! of them together, so that an entry is looked for anywhere in a line.

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

pub use clean::clean;
pub use entry::entries;
