//! OTLP over gRPC: one call of tonic's client per batch.
//!
//! It has its own codec because the queue is bounded in bytes and so holds encoded requests. tonic's
//! generated clients take messages: each batch would have to be decoded and encoded again.

use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes};
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_types::{RetryInfo, pb};

use super::answer::delivery;
use super::batch::{Batch, Signal};
use super::config::{OtlpConfig, Protocol};
use super::connector::{USER_AGENT, connector};
use super::error::{OtlpError, SendError, chain};
use super::queue::Delivery;

/// A channel per signal; they connect on first use, and reconnect after a failure.
pub(super) struct GrpcTransport {
    channels: [Option<Grpc<Channel>>; 3],
    headers: MetadataMap,
}

impl GrpcTransport {
    pub(super) fn new(config: &OtlpConfig) -> Result<Self, OtlpError> {
        let mut channels = [const { None }; 3];
        for (channel, signal) in channels.iter_mut().zip(Signal::ALL) {
            if let Some(to) = config.endpoints.get(signal) {
                let connector = connector(config, Protocol::Grpc)?;
                let endpoint = Endpoint::from(to.clone()).user_agent(USER_AGENT);
                let endpoint =
                    endpoint.map_err(|_| OtlpError::Endpoint { text: to.to_string() })?;
                *channel = Some(Grpc::new(endpoint.connect_with_connector_lazy(connector)));
            }
        }
        let headers = config.headers.iter().cloned().collect();
        Ok(Self { channels, headers: MetadataMap::from_headers(headers) })
    }

    pub(super) async fn send(&mut self, batch: &Batch) -> Result<Delivery, SendError> {
        let channel = self.channels.get_mut(batch.signal as usize).and_then(Option::as_mut);
        let Some(channel) = channel else {
            return Err(SendError::Permanent(format!("no endpoint for {}", batch.signal.name())));
        };
        let unready = |error| SendError::Retryable { why: chain(&error), after: None };
        channel.ready().await.map_err(unready)?;
        let mut request = Request::new(batch.body.clone());
        *request.metadata_mut() = self.headers.clone();
        let path = PathAndQuery::from_static(batch.signal.grpc_path());
        let answer = channel.unary(request, path, Encoded).await;
        let answer = answer.map_err(|status| refusal(batch.signal, &status))?;
        Ok(delivery(batch.signal, answer.into_inner()))
    }
}

/// What a refusal means for a batch of `signal`. Retryable codes are from the protocol's specification.
#[must_use]
pub fn refusal(signal: Signal, status: &Status) -> SendError {
    let after = asked_delay(status);
    let is_retryable = match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => true,
        // Only if the receiver says that it will recover.
        Code::ResourceExhausted => after.is_some(),
        _ => false,
    };
    let (name, code, message) = (signal.name(), status.code(), status.message());
    let cause = std::error::Error::source(status).map(|cause| format!(": {}", chain(cause)));
    let cause = cause.unwrap_or_default();
    let why = format!("{name} were answered with {code:?}: {message}{cause}");
    if is_retryable { SendError::Retryable { why, after } } else { SendError::Permanent(why) }
}

/// The delay of `RetryInfo` among the details; 0 for a negative one. The conversion of `tonic_types` overflows
/// with the least number of seconds.
fn asked_delay(status: &Status) -> Option<Duration> {
    let details = pb::Status::decode(status.details()).ok()?.details;
    let info = details.into_iter().find(|one| one.type_url == RetryInfo::TYPE_URL)?;
    let asked = pb::RetryInfo::decode(info.value.as_slice()).ok()?.retry_delay?;
    let seconds = asked.seconds.try_into().unwrap_or(0);
    Some(Duration::new(seconds, asked.nanos.try_into().unwrap_or(0)))
}

/// Passes encoded messages on.
struct Encoded;

impl Codec for Encoded {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(message);
        Ok(())
    }
}

impl Decoder for Encoded {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::{ErrorDetails, StatusExt};

    use super::*;

    #[test]
    fn what_may_come_again_is_what_the_specification_lists() {
        let of = |status: &Status| match refusal(Signal::Logs, status) {
            SendError::Retryable { after, .. } => Some(after),
            SendError::Permanent(_) => None,
        };
        let codes = (0..17).map(Code::from);
        let retryable: Vec<Code> =
            codes.filter(|code| of(&Status::new(*code, "")).is_some()).collect();
        let listed = [
            Code::Cancelled,
            Code::DeadlineExceeded,
            Code::Aborted,
            Code::OutOfRange,
            Code::Unavailable,
            Code::DataLoss,
        ];
        assert_eq!(retryable.len(), listed.len());
        assert!(listed.iter().all(|code| retryable.contains(code)), "{retryable:?}");
        // One that is full recovers only where it says when.
        let delay = Some(Duration::from_secs(3));
        let details = ErrorDetails::with_retry_info(delay);
        let full = Status::with_error_details(Code::ResourceExhausted, "full", details);
        assert_eq!(of(&full), Some(delay));
    }

    #[test]
    fn a_delay_may_be_any_number() {
        // `google.rpc.Status` with a `RetryInfo` of so many seconds.
        let of = |seconds: i64| {
            let mut duration = vec![0x08];
            prost::encoding::encode_varint(seconds.cast_unsigned(), &mut duration);
            let within = |tag: u8, bytes: &[u8]| {
                let mut field = vec![tag << 3 | 2, bytes.len() as u8];
                field.extend(bytes);
                field
            };
            let url = within(1, RetryInfo::TYPE_URL.as_bytes());
            let any = [url, within(2, &within(1, &duration))].concat();
            let details = [vec![0x08, 8], within(3, &any)].concat();
            asked_delay(&Status::with_details(Code::ResourceExhausted, "full", details.into()))
        };
        assert_eq!(of(3), Some(Duration::from_secs(3)));
        assert_eq!(of(i64::MAX), Some(Duration::from_secs(i64::MAX.unsigned_abs())));
        assert_eq!([of(-1), of(i64::MIN)], [Some(Duration::ZERO); 2]);
    }
}
