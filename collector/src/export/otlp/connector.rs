//! Connections to a receiver.

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;

use super::batch::Signal;
use super::config::{OtlpConfig, Protocol};
use super::error::OtlpError;

/// User agent, as receivers log it.
pub(super) const USER_AGENT: &str = concat!("railscope/", env!("CARGO_PKG_VERSION"));

/// Connects with TLS for an https URL. The system's certificates are read only for that.
pub(super) fn connector(
    config: &OtlpConfig,
    protocol: Protocol,
) -> Result<HttpsConnector<HttpConnector>, OtlpError> {
    let mut endpoints = Signal::ALL.iter().filter_map(|signal| config.endpoints.get(*signal));
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
