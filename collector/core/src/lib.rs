//! What railscope understands of RoCEv2 traffic, NCCL and NIC counters.
//!
//! Layers, in the order data flows; a layer names only layers before it:
//! [`model`] -> [`decode`] -> [`flow`] -> [`link`] -> [`analysis`] -> [`report`] -> [`metrics`],
//! composed by [`pipeline`]. [`compare`] reads reports back and sets two side by side. Nothing here reads
//! a clock, file, socket or environment: the same input gives the same report, byte for byte.

pub mod model;
pub mod decode;
pub mod flow;
pub mod link;
pub mod analysis;
pub mod report;
pub mod compare;
pub mod metrics;
pub mod pipeline;
