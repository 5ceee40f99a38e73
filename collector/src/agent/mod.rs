//! The agent: live sources, the pipeline and exporters, composed and kept running on a training node.

pub mod config;
pub mod server;
