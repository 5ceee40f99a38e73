//! A batch: one encoded request.

use prost::Message;
use prost::bytes::Bytes;

/// Kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Points.
    Metrics,
    /// Spans.
    Traces,
    /// Log records.
    Logs,
}

/// An encoded request.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its kind of data.
    pub signal: Signal,
    /// Points, spans or log records in it.
    pub items: u64,
    /// The request.
    pub body: Bytes,
}

/// Points, spans or log records of one request: far less than the 4 MiB that gRPC servers take.
pub(super) const ITEMS: usize = 2000;

impl Signal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Metrics, Self::Traces, Self::Logs];

    /// The name in URLs, variables and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Traces => "traces",
            Self::Logs => "logs",
        }
    }

    /// The method of the protocol's gRPC service.
    pub(super) const fn grpc_path(self) -> &'static str {
        match self {
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        }
    }
}

impl Batch {
    pub(super) fn new(signal: Signal, items: usize, request: &impl Message) -> Self {
        Self { signal, items: items as u64, body: request.encode_to_vec().into() }
    }
}
