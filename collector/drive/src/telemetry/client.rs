//! The HTTP client of the SDK's exporters.
//!
//! The SDK exports from threads of its own, and the client needs a Tokio runtime: each request runs
//! there. The SDK hides why a connection failed; this client keeps the reason.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

/// The latest error of any request.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble(Arc<Mutex<Option<String>>>);

/// Sends requests on a runtime.
#[derive(Debug)]
pub(super) struct Client {
    inner: HyperClient<HttpsConnector<HttpConnector>>,
    runtime: Handle,
    trouble: Trouble,
}

impl Trouble {
    fn set(&self, why: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// A reason that counts unless the client knows a better one.
    pub(super) fn suggest(&self, why: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Client {
    /// A client for URLs of either scheme.
    ///
    /// # Errors
    /// The system's certificates cannot be read; only https needs them.
    pub(super) fn new(
        is_https: bool,
        timeout: Duration,
        runtime: Handle,
        trouble: Trouble,
    ) -> std::io::Result<Self> {
        let builder = HttpsConnectorBuilder::new();
        let builder = if is_https {
            builder.with_native_roots()?
        } else {
            let nobody = rustls::RootCertStore::empty();
            let tls = rustls::ClientConfig::builder().with_root_certificates(nobody);
            builder.with_tls_config(tls.with_no_client_auth())
        };
        let connector = builder.https_or_http().enable_http1().build();
        Ok(Self { inner: HyperClient::new(connector, timeout, None), runtime, trouble })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let inner = self.inner.clone();
        let sent = self.runtime.spawn(async move { inner.send_bytes(request).await });
        let outcome = sent.await.unwrap_or_else(|error| Err(error.into()));
        match &outcome {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => self.trouble.set(format!("the receiver answered {}", answer.status())),
            Err(error) => self.trouble.set(root(error.as_ref())),
        }
        outcome
    }
}

/// The cause at the end of the chain: `Connection refused (os error 111)`.
fn root(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}
