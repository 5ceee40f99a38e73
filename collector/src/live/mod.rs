//! From live sources to reports: [`packets`] opens the best source of packets, [`session`] reads it into a
//! pipeline, [`analyst`] makes reports on another thread, and [`runner`] is the loop for [`runner::Observer`]s.

pub mod analyst;
#[cfg(target_os = "linux")]
pub mod packets;
pub mod runner;
pub mod session;
