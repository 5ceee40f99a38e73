//! OTLP over HTTP: one POST of protobuf per batch.

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

use super::answer::delivery;
use super::batch::{Batch, Signal};
use super::config::{OtlpConfig, Protocol};
use super::connector;
use super::error::{OtlpError, SendError, chain};
use super::queue::Delivery;
use crate::printable::printable;

/// Bytes read of an answer.
const ANSWER_BYTES: usize = 64 << 10;
/// Characters of an answer that are reported.
const SHOWN: usize = 200;

/// A client that keeps its connection.
pub(super) struct HttpTransport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    config: OtlpConfig,
}

impl HttpTransport {
    pub(super) fn new(config: &OtlpConfig) -> Result<Self, OtlpError> {
        let connector = connector::connector(config, Protocol::HttpProtobuf)?;
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { client, config: config.clone() })
    }

    pub(super) async fn send(&self, batch: &Batch) -> Result<Delivery, SendError> {
        let answer = self.client.request(self.request(batch)?);
        let answer = answer.await.map_err(|error| retryable(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes);
        let body = body.map_err(|error| retryable(&*error));
        outcome(batch.signal, head.status, &head.headers, body)
    }

    fn request(&self, batch: &Batch) -> Result<Request<Full<Bytes>>, SendError> {
        let nowhere = || SendError::Permanent(format!("no endpoint for {}", batch.signal.name()));
        let to = self.config.endpoints.get(batch.signal).ok_or_else(nowhere)?;
        let mut request = Request::builder().method(Method::POST).uri(to);
        request = request.header(CONTENT_TYPE, "application/x-protobuf");
        request = request.header(USER_AGENT, connector::USER_AGENT);
        for (name, value) in &self.config.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(batch.body.clone()));
        request.map_err(|error| SendError::Permanent(error.to_string()))
    }
}

/// What an answer means for a batch of `signal`.
///
/// # Errors
///
/// The batch was not accepted.
pub fn outcome(
    signal: Signal,
    status: StatusCode,
    headers: &HeaderMap,
    body: Result<Bytes, SendError>,
) -> Result<Delivery, SendError> {
    if status.is_success() {
        return body.map(|body| delivery(signal, body));
    }
    let why = said(status, signal, &body.unwrap_or_default());
    if is_retryable(status) {
        Err(SendError::Retryable { why, after: retry_after(headers) })
    } else {
        Err(SendError::Permanent(why))
    }
}

fn retryable(error: &(dyn std::error::Error + 'static)) -> SendError {
    SendError::Retryable { why: chain(error), after: None }
}

/// Retryable codes, from the protocol's specification.
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

/// The message on an answer: its status, and its text if readable.
fn said(status: StatusCode, signal: Signal, body: &Bytes) -> String {
    let text: String = String::from_utf8_lossy(body).chars().take(SHOWN).collect();
    let is_text = !text.contains(|c: char| c.is_control() && !c.is_whitespace());
    let text = if is_text { printable(text.trim()) } else { "".into() };
    let colon = if text.is_empty() { "" } else { ": " };
    format!("{} were answered with {status}{colon}{text}", signal.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_come_again_is_what_the_specification_lists() {
        let codes = (200..600).filter_map(|code| StatusCode::from_u16(code).ok());
        let retryable: Vec<u16> =
            codes.filter(|code| is_retryable(*code)).map(|code| code.as_u16()).collect();
        assert_eq!(retryable, [429, 502, 503, 504]);
    }

    #[test]
    fn receivers_ask_in_seconds_or_for_a_date() {
        let after = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            retry_after(&headers)
        };
        assert_eq!(after("7"), Some(Duration::from_secs(7)));
        let soon = Timestamp::now() + Duration::from_secs(100);
        let printer = rfc2822::DateTimePrinter::new();
        let date = printer.timestamp_to_rfc9110_string(&soon).unwrap();
        let asked = after(&date).unwrap();
        assert!((90..=100).contains(&asked.as_secs()), "{date}: {asked:?}");
        assert_eq!(after("Thu, 01 Jan 1970 00:00:00 GMT"), None, "it is past");
        assert_eq!(after("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
