//! railscope reads RoCEv2 traffic of AI training clusters, follows every queue pair packet by
//! packet, and reports what is wrong with it.
//!
//! Layers, in the order data flows; a layer names only layers before it:
//! [`model`] -> [`decode`] -> [`flow`] -> [`link`] -> [`analysis`] -> [`report`] -> [`metrics`], composed by [`pipeline`]. The
//! edges are [`ingest`] (bytes in), [`live`] (from live sources to reports), [`export`] (reports out), `drive` (makes traffic), `agent` (stays on a training node) and [`cli`]. The core reads no clock,
//! file, socket or environment: the same input gives the same report, byte for byte.

pub mod model;
pub mod decode;
pub mod flow;
pub mod link;
pub mod analysis;
pub mod report;
pub mod metrics;
pub mod pipeline;

pub mod ingest;
pub mod live;
pub mod export;
#[cfg(target_os = "linux")]
pub mod drive;
#[cfg(all(target_os = "linux", feature = "live", feature = "otlp"))]
pub mod agent;
pub mod cli;
