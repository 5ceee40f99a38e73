//! Live sources on their way into reports: [`packets`] opens the best source of packets that there
//! is here, [`session`] reads it into a pipeline, and [`analyst`] makes reports of it beside that.

pub mod analyst;
#[cfg(target_os = "linux")]
pub mod packets;
pub mod session;
