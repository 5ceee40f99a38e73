//! A receiver's answer to a batch. The first two bytes give the protocol, the kind of data and the status, the
//! first line a delay or a message; the rest is the body, or the details of a status of gRPC.

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use railscope::export::otlp::batch::Signal;
use railscope::export::otlp::error::SendError;
use railscope::export::otlp::queue::Delivery;
use railscope::export::otlp::{outcome, refusal};
use railscope::printable::is_printable;
use tonic::{Code, Status};

/// Characters of an answer that are reported, with the words around them.
const SHOWN: usize = 300;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let [head, status, rest @ ..] = data else { return };
    let (line, body) = rest.split_at(rest.iter().position(|byte| *byte == b'\n').unwrap_or(0));
    let body = body.get(1..).unwrap_or_default();
    let signal = Signal::ALL[usize::from(*head >> 1 & 0x3f) % 3];
    match head & 1 {
        0 => check_http(signal, 100 + 2 * u16::from(*status) + u16::from(head >> 7), line, body),
        _ => check_grpc(signal, i32::from(*status % 20), line, body),
    }
}

fn check_http(signal: Signal, status: u16, line: &[u8], body: &[u8]) {
    let mut headers = HeaderMap::new();
    headers.extend(HeaderValue::from_bytes(line).ok().map(|value| (RETRY_AFTER, value)));
    let Ok(status) = StatusCode::from_u16(status) else { return };
    let answer = outcome(signal, status, &headers, Ok(body.to_vec().into()));
    let is_success = status.is_success();
    let why = match &answer {
        Ok(Delivery::Taken { message, .. }) => {
            assert!(is_success && message.len() <= body.len());
            return;
        }
        Ok(Delivery::Failed(why)) => panic!("{why}"),
        Err(SendError::Retryable { why, after }) => {
            assert!([429, 502, 503, 504].contains(&status.as_u16()), "{status}");
            assert!(after.is_none() || !headers.is_empty(), "nobody asked for {after:?}");
            why
        }
        Err(SendError::Permanent(why)) => why,
    };
    assert!(!is_success && why.starts_with(signal.name()) && why.contains(status.as_str()));
    assert!(why.chars().all(is_printable) && why.chars().count() <= SHOWN, "{why:?}");
}

fn check_grpc(signal: Signal, code: i32, line: &[u8], details: &[u8]) {
    let (code, message) = (Code::from(code), String::from_utf8_lossy(line));
    let status = Status::with_details(code, message, details.to_vec().into());
    let (why, after) = match refusal(signal, &status) {
        SendError::Retryable { why, after } => {
            assert!(code != Code::ResourceExhausted || after.is_some(), "it is full for good");
            (why, after)
        }
        SendError::Permanent(why) => (why, None),
    };
    assert!(after.is_none() || !details.is_empty(), "nobody asked for {after:?}");
    assert!(why.starts_with(signal.name()) && why.contains(&format!("{code:?}")), "{why:?}");
}
