//! What NCCL's logs tell: processes, their networks and troubles, and the communicators they made.
//!
//! [`LogTracker`] takes lines of any number of logs, in the order of each; how lines of several
//! processes interleave makes no difference. [`LogFacts`] is what they amount to: plain lists by
//! host and process, and [`LogFacts::link`] joins them into communicators.

pub mod membership;
pub mod network;
pub mod process;
pub mod warning;

mod communicators;
mod tracker;

pub use communicators::LinkedLogs;
pub use tracker::{LogFacts, LogFile, LogTracker, Unparsed};
