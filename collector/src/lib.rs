//! railscope reads what the packets, the NICs and NCCL each know of a training cluster's fabric and
//! puts it on one timeline.
//!
//! Layers, in the order data flows; a layer names only layers before it:
//! [`model`] -> [`decode`] -> [`flow`] -> [`report`], composed by [`pipeline`]. The edges are
//! [`ingest`] (bytes in), [`export`] (reports out) and [`cli`]. The core reads no clock, file,
//! socket or environment: the same input gives the same report, byte for byte.

pub mod decode;
pub mod ingest;
pub mod model;
