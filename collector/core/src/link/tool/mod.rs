//! Outputs of other tools within texts: where each begins and ends, and the nodes that they describe.

pub mod node;
mod prefix;
pub mod switch;
mod switch_qos;
mod tracker;

pub use tracker::{Found, ToolFacts, ToolTracker};
