//! The official SDK: providers of spans and metrics, and their exporters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opentelemetry::metrics::{Meter, MeterProvider as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    MetricExporter, Protocol as Wire, SpanExporter, WithExportConfig, WithHttpConfig as _,
    WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, SpanData};
use tokio::runtime::{Builder, Handle};

use super::client::{Client, Trouble};
use super::delivery::Delivery;
use super::settings::{Destination, Protocol, Settings};
use crate::clock::Deadline;

/// Name of the service, unless the environment has another.
const SERVICE: &str = "railscope-drive";

/// The running SDK.
#[derive(Debug)]
pub(super) struct Exporter {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    delivered: Arc<AtomicU64>,
    trouble: Trouble,
}

/// Why it did not start.
type StartError = Box<dyn std::error::Error + Send + Sync>;

impl Exporter {
    /// Starts it. The receiver may be absent.
    pub(super) fn start(settings: &Settings) -> Result<Self, StartError> {
        let runtime = runtime()?;
        let (delivered, trouble) = (Arc::new(AtomicU64::new(0)), Trouble::default());
        let mut exporter =
            Self { traces: None, metrics: None, delivered, trouble: trouble.clone() };
        // Connections are made there.
        let _inside = runtime.enter();
        if let Some(to) = &settings.traces {
            let inner = span_exporter(to, runtime.clone(), &trouble)?;
            let delivered = Arc::clone(&exporter.delivered);
            let counted = Counted { inner, delivered, trouble: trouble.clone() };
            let provider = SdkTracerProvider::builder().with_resource(resource());
            exporter.traces = Some(provider.with_batch_exporter(counted).build());
        }
        if let Some(to) = &settings.metrics {
            let inner = metric_exporter(to, runtime.clone(), &trouble)?;
            let provider = SdkMeterProvider::builder().with_resource(resource());
            exporter.metrics = Some(provider.with_periodic_exporter(inner).build());
        }
        Ok(exporter)
    }

    /// Makes spans; `None` if they are not sent.
    pub(super) fn tracer(&self) -> Option<SdkTracer> {
        self.traces.as_ref().map(|provider| provider.tracer(SERVICE))
    }

    /// Makes instruments; `None` if metrics are not sent.
    pub(super) fn meter(&self) -> Option<Meter> {
        self.metrics.as_ref().map(|provider| provider.meter(SERVICE))
    }

    /// Sends the rest until the deadline; `spans` is how many there are in all.
    pub(super) fn finish(self, spans: u64, deadline: &Deadline) -> Delivery {
        let Self { traces, metrics, delivered, trouble } = self;
        // The SDK's own deadline does not hold for metrics, so both end in threads.
        let end = |end: Box<dyn FnOnce(Duration) -> OTelSdkResult + Send>| {
            let (left, (say, said)) = (deadline.left(), mpsc::channel());
            let work = move || drop(say.send(end(left)));
            // Without a thread, the receiver finds the channel closed.
            drop(thread::Builder::new().spawn(work));
            said.recv_timeout(left).is_ok_and(|ended| ended.is_ok())
        };
        if let Some(provider) = traces {
            end(Box::new(move |left| provider.shutdown_with_timeout(left)));
        }
        let has_metrics = metrics
            .is_none_or(|provider| end(Box::new(move |left| provider.shutdown_with_timeout(left))));
        let mut delivery = Delivery {
            spans,
            delivered: delivered.load(Ordering::Acquire),
            has_metrics,
            trouble: None,
        };
        if delivery.is_partial() {
            let silent = || "the receiver did not answer in time".to_owned();
            delivery.trouble = Some(trouble.get().unwrap_or_else(silent));
        }
        delivery
    }
}

/// A runtime with a thread of its own; it ends with the process.
fn runtime() -> std::io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let work = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("otlp".to_owned()).spawn(work)?;
    Ok(handle)
}

/// What the environment says; the service has our name unless it has another there.
fn resource() -> Resource {
    let found = Resource::builder().build();
    let name = found.get(&"service.name".into());
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    if is_named { builder.build() } else { builder.with_service_name(SERVICE).build() }
}

fn span_exporter(
    to: &Destination,
    runtime: Handle,
    trouble: &Trouble,
) -> Result<SpanExporter, StartError> {
    Ok(match to.protocol {
        Protocol::Http => {
            let client = Client::new(to.is_https, to.timeout, runtime, trouble.clone())?;
            let builder = SpanExporter::builder().with_http().with_protocol(Wire::HttpBinary);
            with_url(builder.with_http_client(client), to).build()?
        }
        Protocol::Grpc => {
            let builder = with_url(SpanExporter::builder().with_tonic(), to);
            if to.is_https { builder.with_tls_config(tls()).build()? } else { builder.build()? }
        }
    })
}

fn metric_exporter(
    to: &Destination,
    runtime: Handle,
    trouble: &Trouble,
) -> Result<MetricExporter, StartError> {
    Ok(match to.protocol {
        Protocol::Http => {
            let client = Client::new(to.is_https, to.timeout, runtime, trouble.clone())?;
            let builder = MetricExporter::builder().with_http().with_protocol(Wire::HttpBinary);
            with_url(builder.with_http_client(client), to).build()?
        }
        Protocol::Grpc => {
            let builder = with_url(MetricExporter::builder().with_tonic(), to);
            if to.is_https { builder.with_tls_config(tls()).build()? } else { builder.build()? }
        }
    })
}

/// Without a URL, the SDK finds it in the environment.
fn with_url<B: WithExportConfig>(builder: B, to: &Destination) -> B {
    match &to.url {
        Some(url) => builder.with_endpoint(url),
        None => builder,
    }
}

fn tls() -> ClientTlsConfig {
    ClientTlsConfig::new().with_native_roots()
}

/// Counts the spans that the receiver took: the SDK does not say.
#[derive(Debug)]
struct Counted {
    inner: SpanExporter,
    delivered: Arc<AtomicU64>,
    trouble: Trouble,
}

impl opentelemetry_sdk::trace::SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let taken = self.inner.export(batch).await;
        match &taken {
            Ok(()) => _ = self.delivered.fetch_add(spans, Ordering::AcqRel),
            Err(error) => self.trouble.suggest(error.to_string()),
        }
        taken
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
