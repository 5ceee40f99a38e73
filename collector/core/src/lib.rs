//! What railscope understands of RoCEv2 traffic, NCCL and NIC counters.
//!
//! Layers, in the order data flows; a layer names only layers before it:
//! [`model`] -> [`decode`] -> [`flow`] -> [`link`] -> [`analysis`] -> [`report`] -> [`metrics`],
//! composed by [`pipeline`]. Nothing here reads a clock, file, socket or environment: the same input
//! gives the same report, byte for byte.

pub mod model;
pub mod decode;
pub mod flow;
pub mod link;
pub mod analysis;
pub mod report;
pub mod metrics;
pub mod pipeline;
