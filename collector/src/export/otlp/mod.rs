//! OTLP, the OpenTelemetry protocol 1.x: metrics from points, traces of collectives, logs of
//! findings, over HTTP (protobuf) or gRPC.
//!
//! ```text
//! points ---- metrics -+
//! news ------ traces --+-> Batch -> Queue (bounded, oldest dropped) -> thread -> HTTP | gRPC
//! news ------ logs ----+
//! ```
//!
//! Whoever has something to send puts it into the queue and goes on: a receiver that is slow or dead
//! costs nobody time, and no more memory than the queue's bound.

pub mod batch;
pub mod config;
pub mod exporter;
pub mod logs;
pub mod metrics;
pub mod queue;
pub mod resource;
pub mod trace_id;
pub mod traces;

mod attributes;
mod grpc;
mod http;
mod retry;
mod transport;
