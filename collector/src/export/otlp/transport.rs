//! Sends a batch by either protocol.

use super::batch::Batch;
use super::config::{OtlpConfig, Protocol};
use super::error::{OtlpError, SendError};
use super::grpc::GrpcTransport;
use super::http::HttpTransport;
use super::queue::Delivery;

/// One of the protocols.
pub(super) enum Transport {
    Grpc(GrpcTransport),
    Http(HttpTransport),
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
