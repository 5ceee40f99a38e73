//! OTLP, the OpenTelemetry protocol 1.x: metrics from points, traces of collectives, logs of
//! findings, over HTTP (protobuf) or gRPC.
//!
//! ```text
//! points ---- metrics -+
//! news ------ traces --+-> Batch -> Queue (bounded, oldest dropped) -> thread -> HTTP | gRPC
//! news ------ logs ----+
//! ```
//!
//! Senders put batches into the queue and continue: a slow or dead receiver costs them no time, and no
//! more memory than the queue's limit.

pub mod batch;
pub mod config;
pub mod error;
pub mod exporter;
pub mod logs;
pub mod metrics;
pub mod queue;
pub mod resource;
pub mod trace_id;
pub mod traces;

mod answer;
mod attributes;
mod connector;
mod grpc;
mod http;
mod retry;
mod transport;

#[doc(hidden)]
pub use self::grpc::refusal;
#[doc(hidden)]
pub use self::http::outcome;
