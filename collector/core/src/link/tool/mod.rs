//! Outputs of other tools within texts: where each begins and ends, and the nodes that they describe.

pub mod node;
mod prefix;
mod tracker;

pub use tracker::{Found, ToolTracker};
