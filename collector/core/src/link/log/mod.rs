//! NCCL's logs: processes, their networks and failures, and their communicators.
//!
//! [`LogTracker`] takes lines of any number of logs, in the order of each; how lines of several
//! processes interleave does not matter. [`LogFacts`] is the result: plain lists by host and
//! process, and [`LogFacts::link`] joins them into communicators.

pub mod membership;
pub mod network;
pub mod process;
pub mod sign;
pub mod warning;
pub mod watchdog;

mod communicators;
mod tracker;
mod unnamed;

pub use communicators::LinkedLogs;
pub use tracker::{LogFacts, LogFile, LogTracker, Unparsed};
