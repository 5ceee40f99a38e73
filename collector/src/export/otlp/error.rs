//! What can go wrong with an exporter, at its start and with each batch.

use std::time::Duration;

/// Why a configuration is not valid, or an exporter does not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each says what it is")]
pub enum OtlpError {
    #[error("`{text}` is not a URL; write http://host:port or https://host:port")]
    Endpoint { text: String },
    #[error("{variable}: `{text}` is not supported; use {supported}")]
    Value { variable: String, text: String, supported: &'static str },
    #[error("{variable}: `{text}` is not valid; write key=value,key=value, percent-encoded")]
    Pairs { variable: &'static str, text: String },
    #[error("{variable}: `{name}` is not a valid header name or has an invalid value")]
    Header { variable: &'static str, name: String },
    #[error("read this system's CA certificates, which https needs")]
    Certificates(#[source] std::io::Error),
    #[error("start the sending thread")]
    Thread(#[source] std::io::Error),
}

/// Why a batch was not accepted.
#[derive(Debug)]
pub enum SendError {
    /// It may be retried, after a delay if the receiver names one.
    Retryable {
        /// What the receiver or the connection said.
        why: String,
        /// The delay that the receiver asks for.
        after: Option<Duration>,
    },
    /// Permanently rejected.
    Permanent(String),
}

/// An error with its causes.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
