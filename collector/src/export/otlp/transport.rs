//! Sends a batch by either protocol, and reads the answer.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use prost::bytes::Bytes;

use super::batch::{Batch, Signal};
use super::config::{OtlpConfig, OtlpError, Protocol};
use super::grpc::GrpcTransport;
use super::http::HttpTransport;
use super::queue::Delivery;

/// User agent, as receivers log it.
pub(super) const USER_AGENT: &str = concat!("railscope/", env!("CARGO_PKG_VERSION"));

/// One of the protocols.
pub(super) enum Transport {
    Grpc(GrpcTransport),
    Http(HttpTransport),
}

/// Why a batch was not accepted.
#[derive(Debug)]
pub(super) enum SendError {
    /// It may be retried, after a delay if the receiver names one.
    Retryable { why: String, after: Option<Duration> },
    /// Permanently rejected.
    Permanent(String),
}

impl Transport {
    /// Must be called within the sending runtime.
    pub(super) fn new(config: &OtlpConfig) -> Result<Self, OtlpError> {
        Ok(match config.protocol {
            Protocol::Grpc => Self::Grpc(GrpcTransport::new(config)?),
            Protocol::HttpProtobuf => Self::Http(HttpTransport::new(config)?),
        })
    }

    pub(super) async fn send(&mut self, batch: &Batch) -> Result<Delivery, SendError> {
        match self {
            Self::Grpc(grpc) => grpc.send(batch).await,
            Self::Http(http) => http.send(batch).await,
        }
    }
}

/// Connects with TLS for an https URL. The system's certificates are read only for that.
pub(super) fn connector(
    config: &OtlpConfig,
    protocol: Protocol,
) -> Result<HttpsConnector<HttpConnector>, OtlpError> {
    let mut endpoints = Signal::ALL.iter().filter_map(|signal| config.endpoints.of(*signal));
    let builder = HttpsConnectorBuilder::new();
    let builder = if endpoints.any(|uri| uri.scheme_str() == Some("https")) {
        builder.with_native_roots().map_err(OtlpError::Certificates)?
    } else {
        let nobody = rustls::RootCertStore::empty();
        let tls = rustls::ClientConfig::builder();
        builder.with_tls_config(tls.with_root_certificates(nobody).with_no_client_auth())
    };
    let builder = builder.https_or_http();
    Ok(match protocol {
        Protocol::Grpc => builder.enable_http2().build(),
        Protocol::HttpProtobuf => builder.enable_http1().build(),
    })
}

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
