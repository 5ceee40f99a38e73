//! Live sources on their way into reports: [`packets`] opens the best source of packets that there
//! is here, [`session`] reads it into a pipeline, [`analyst`] makes reports of it beside that, and
//! [`runner`] is the loop of it all, for whoever observes.

pub mod analyst;
#[cfg(target_os = "linux")]
pub mod packets;
pub mod runner;
pub mod session;
