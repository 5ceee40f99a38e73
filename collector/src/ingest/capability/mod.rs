//! What this process may do and what the kernel offers, and so which sources can run here: facts,
//! and for each source that cannot run a reason, so that a missing source is told and never silent.

mod host;
mod source;

pub use host::{Capability, Host, KernelRelease};
pub use source::{Source, Verdict};
