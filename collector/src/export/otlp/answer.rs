//! What a receiver answers to a batch.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use prost::bytes::Bytes;

use super::batch::Signal;
use super::queue::Delivery;

/// The rejected items, from the body of an answer.
pub(super) fn delivery(signal: Signal, answer: Bytes) -> Delivery {
    let said = match signal {
        Signal::Metrics => ExportMetricsServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partly| (partly.rejected_data_points, partly.error_message)),
        Signal::Traces => ExportTraceServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partly| (partly.rejected_spans, partly.error_message)),
        Signal::Logs => ExportLogsServiceResponse::decode(answer)
            .ok()
            .and_then(|answer| answer.partial_success)
            .map(|partly| (partly.rejected_log_records, partly.error_message)),
    };
    let (rejected, message) = said.unwrap_or_default();
    Delivery::Taken { rejected: u64::try_from(rejected).unwrap_or(0), message }
}
