//! What this process may do and what the kernel offers: facts, and a [`Verdict`] for each source that
//! needs them, so that a source which cannot run is reported with its reason.

mod host;
mod verdict;

pub use host::{Capability, Host, KernelRelease, effective, release};
pub use verdict::Verdict;
