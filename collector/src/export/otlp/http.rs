//! OTLP over HTTP: one POST of protobuf a batch.

use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::{Timestamp, fmt::rfc2822};
use prost::bytes::Bytes;

use super::batch::{Batch, Signal};
use super::config::{OtlpConfig, OtlpError, Protocol};
use super::queue::Delivery;
use super::transport::{self, SendError};

/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 64 << 10;
/// Characters of an answer that are told.
const TOLD: usize = 200;

/// A client that keeps its connection.
pub(super) struct HttpTransport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    config: OtlpConfig,
}

impl HttpTransport {
    pub(super) fn new(config: &OtlpConfig) -> Result<Self, OtlpError> {
        let connector = transport::connector(config, Protocol::HttpProtobuf)?;
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, config: config.clone() })
    }

    pub(super) async fn send(&self, batch: &Batch) -> Result<Delivery, SendError> {
        let answer = self.client.request(self.request(batch)?);
        let answer = answer.await.map_err(|error| retryable(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes);
        if head.status.is_success() {
            return body
                .map(|body| transport::delivery(batch.signal, body))
                .map_err(|error| retryable(&*error));
        }
        let why = said(head.status, batch.signal, &body.unwrap_or_default());
        if is_retryable(head.status) {
            Err(SendError::Retryable { why, after: retry_after(&head.headers) })
        } else {
            Err(SendError::Permanent(why))
        }
    }

    fn request(&self, batch: &Batch) -> Result<Request<Full<Bytes>>, SendError> {
        let nowhere = || SendError::Permanent(format!("{} go nowhere", batch.signal.name()));
        let to = self.config.endpoints.of(batch.signal).ok_or_else(nowhere)?;
        let mut request = Request::builder().method(Method::POST).uri(to);
        request = request.header(CONTENT_TYPE, "application/x-protobuf");
        request = request.header(USER_AGENT, transport::USER_AGENT);
        for (name, value) in &self.config.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(batch.body.clone()));
        request.map_err(|error| SendError::Permanent(error.to_string()))
    }
}

fn retryable(error: &(dyn std::error::Error + 'static)) -> SendError {
    SendError::Retryable { why: chain(error), after: None }
}

/// An error with its causes.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// As the protocol's specification lists them.
fn is_retryable(status: StatusCode) -> bool {
    [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ]
    .contains(&status)
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    value.parse().ok().map(Duration::from_secs).or_else(|| {
        let date = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
        Duration::try_from(date.duration_since(Timestamp::now())).ok()
    })
}

/// What is told of an answer: its status, and its text where that can be read.
fn said(status: StatusCode, signal: Signal, body: &Bytes) -> String {
    let text: String = String::from_utf8_lossy(body).chars().take(TOLD).collect();
    let is_text = !text.contains(|c: char| c.is_control() && !c.is_whitespace());
    let text = if is_text { text.trim() } else { "" };
    let colon = if text.is_empty() { "" } else { ": " };
    format!("{} were answered with {status}{colon}{text}", signal.name())
}
