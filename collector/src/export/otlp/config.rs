//! Configuration of the exporter, from the environment variables of OpenTelemetry's SDKs
//! (OpenTelemetry specification, "OpenTelemetry Protocol Exporter" and "SDK environment variables").

use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};

use super::batch::Signal;
use super::error::OtlpError;
use super::resource::{self, Resource};

/// Configuration of the exporter.
#[derive(Clone, Debug)]
pub struct OtlpConfig {
    /// gRPC or HTTP.
    pub protocol: Protocol,
    /// Endpoint of each signal; `None`: not exported.
    pub endpoints: Endpoints,
    /// Sent with each request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Timeout of one request, from connecting to the answer.
    pub timeout: Duration,
    /// Attributes of the sender.
    pub resource: Resource,
    /// Share of traces to send, 0 to 1: every host samples the same ones.
    pub trace_ratio: f64,
    /// Most bytes in the queue.
    pub queue_bytes: usize,
}

/// How to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC, by default at port 4317.
    Grpc,
    /// Protobuf over HTTP, by default at port 4318.
    HttpProtobuf,
}

/// Endpoint of each signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    metrics: Option<Uri>,
    traces: Option<Uri>,
    logs: Option<Uri>,
}

/// Default size of the queue.
pub const QUEUE_BYTES: usize = 16 << 20;
/// The specification's default.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Endpoints {
    /// Endpoint of `signal`.
    #[must_use]
    pub const fn get(&self, signal: Signal) -> Option<&Uri> {
        match signal {
            Signal::Metrics => self.metrics.as_ref(),
            Signal::Traces => self.traces.as_ref(),
            Signal::Logs => self.logs.as_ref(),
        }
    }

    fn set(&mut self, signal: Signal, to: Uri) {
        let endpoint = match signal {
            Signal::Metrics => &mut self.metrics,
            Signal::Traces => &mut self.traces,
            Signal::Logs => &mut self.logs,
        };
        *endpoint = Some(to);
    }
}

impl OtlpConfig {
    /// The configuration from `variable`, with `endpoint`. `None` uses `OTEL_EXPORTER_OTLP_*_ENDPOINT`, or
    /// else the default, a collector on this host.
    ///
    /// # Errors
    ///
    /// When a value is not valid. Empty ones count as not set.
    pub fn from_environment(
        endpoint: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OtlpError> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let protocol = protocol(variable("OTEL_EXPORTER_OTLP_PROTOCOL"), endpoint)?;
        let mut resource = Resource::default();
        if let Some(text) = variable("OTEL_RESOURCE_ATTRIBUTES") {
            resource.set_all(&text)?;
        }
        if let Some(name) = variable("OTEL_SERVICE_NAME") {
            resource.set("service.name", name);
        }
        Ok(Self {
            protocol,
            endpoints: endpoints(protocol, endpoint, &variable)?,
            headers: headers(variable("OTEL_EXPORTER_OTLP_HEADERS"))?,
            timeout: timeout(variable("OTEL_EXPORTER_OTLP_TIMEOUT"))?,
            resource,
            trace_ratio: trace_ratio(&variable)?,
            queue_bytes: QUEUE_BYTES,
        })
    }
}

/// The configured protocol, else gRPC for its usual port, else the specification's default.
fn protocol(said: Option<String>, endpoint: Option<&str>) -> Result<Protocol, OtlpError> {
    match said.as_deref() {
        Some("grpc") => Ok(Protocol::Grpc),
        Some("http/protobuf") => Ok(Protocol::HttpProtobuf),
        Some(other) => Err(OtlpError::Value {
            variable: "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned(),
            text: other.to_owned(),
            supported: "grpc or http/protobuf",
        }),
        None => {
            let port =
                endpoint.and_then(|text| text.parse::<Uri>().ok()).and_then(|uri| uri.port_u16());
            Ok(if port == Some(4317) { Protocol::Grpc } else { Protocol::HttpProtobuf })
        }
    }
}

fn endpoints(
    protocol: Protocol,
    endpoint: Option<&str>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Endpoints, OtlpError> {
    let default = match protocol {
        Protocol::Grpc => "http://localhost:4317",
        Protocol::HttpProtobuf => "http://localhost:4318",
    };
    let base = endpoint.map(str::to_owned).or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let base = base.unwrap_or_else(|| default.to_owned());
    let mut endpoints = Endpoints::default();
    for signal in Signal::ALL {
        let upper = signal.name().to_uppercase();
        let exporter = format!("OTEL_{upper}_EXPORTER");
        match variable(&exporter).as_deref() {
            None | Some("otlp") => {}
            Some("none") => continue,
            Some(other) => {
                let text = other.to_owned();
                let supported = "otlp or none";
                return Err(OtlpError::Value { variable: exporter, text, supported });
            }
        }
        let exact = variable(&format!("OTEL_EXPORTER_OTLP_{upper}_ENDPOINT"));
        let exact = exact.filter(|_| endpoint.is_none());
        let to = match (exact, protocol) {
            (Some(exact), _) => url(&exact)?,
            (None, Protocol::Grpc) => url(&base)?,
            // The base may have a path, as Prometheus's does.
            (None, Protocol::HttpProtobuf) => {
                url(&base)?;
                url(&format!("{}/v1/{}", base.trim_end_matches('/'), signal.name()))?
            }
        };
        endpoints.set(signal, to);
    }
    Ok(endpoints)
}

fn url(text: &str) -> Result<Uri, OtlpError> {
    let uri = text.parse::<Uri>().ok();
    let is_whole = |uri: &Uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|h| !h.is_empty())
    };
    uri.filter(is_whole).ok_or_else(|| OtlpError::Endpoint { text: text.to_owned() })
}

fn headers(said: Option<String>) -> Result<Vec<(HeaderName, HeaderValue)>, OtlpError> {
    const VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";
    let Some(text) = said else { return Ok(Vec::new()) };
    // Values are secrets and never appear in messages.
    let no_pairs = || OtlpError::Pairs { variable: VARIABLE, text: "...".to_owned() };
    let pairs = resource::pairs(&text).ok_or_else(no_pairs)?;
    let header = |(name, value): (String, String)| {
        let parsed = name.to_lowercase().parse().ok().zip(value.parse::<HeaderValue>().ok());
        let (name, mut value): (HeaderName, HeaderValue) =
            parsed.ok_or(OtlpError::Header { variable: VARIABLE, name })?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    pairs.into_iter().map(header).collect()
}

fn timeout(said: Option<String>) -> Result<Duration, OtlpError> {
    let Some(text) = said else { return Ok(TIMEOUT) };
    match text.parse() {
        Ok(millis) if millis > 0 => Ok(Duration::from_millis(millis)),
        _ => Err(OtlpError::Value {
            variable: "OTEL_EXPORTER_OTLP_TIMEOUT".to_owned(),
            text,
            supported: "milliseconds",
        }),
    }
}

/// The sampling ratio of the environment: all, none, or a share.
fn trace_ratio(variable: &impl Fn(&str) -> Option<String>) -> Result<f64, OtlpError> {
    let wrong = |variable: &str, text: String, supported| {
        Err(OtlpError::Value { variable: variable.to_owned(), text, supported })
    };
    let sampler = variable("OTEL_TRACES_SAMPLER");
    match sampler.as_deref() {
        None | Some("always_on" | "parentbased_always_on") => Ok(1.0),
        Some("always_off" | "parentbased_always_off") => Ok(0.0),
        Some("traceidratio" | "parentbased_traceidratio") => {
            let Some(text) = variable("OTEL_TRACES_SAMPLER_ARG") else { return Ok(1.0) };
            match text.parse() {
                Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
                _ => wrong("OTEL_TRACES_SAMPLER_ARG", text, "a share from 0 to 1"),
            }
        }
        Some(other) => {
            wrong("OTEL_TRACES_SAMPLER", other.to_owned(), "always_on, always_off or traceidratio")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(endpoint: Option<&str>, variables: &[(&str, &str)]) -> Result<OtlpConfig, OtlpError> {
        let value = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        OtlpConfig::from_environment(endpoint, value)
    }

    fn metrics_of(config: &OtlpConfig) -> String {
        config.endpoints.get(Signal::Metrics).map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn endpoints_are_those_of_the_specification() {
        let config = parse(None, &[]).unwrap();
        assert_eq!(config.protocol, Protocol::HttpProtobuf);
        assert_eq!(metrics_of(&config), "http://localhost:4318/v1/metrics");
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1/api/v1/otlp/");
        assert_eq!(
            metrics_of(&parse(None, &[base]).unwrap()),
            "https://c:1/api/v1/otlp/v1/metrics"
        );
        let exact = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m:2/x");
        assert_eq!(metrics_of(&parse(None, &[base, exact]).unwrap()), "http://m:2/x");
        let config =
            parse(Some("http://c:3"), &[base, exact, ("OTEL_LOGS_EXPORTER", "none")]).unwrap();
        assert_eq!(metrics_of(&config), "http://c:3/v1/metrics", "what is asked for wins");
        let traces = config.endpoints.get(Signal::Traces).unwrap();
        assert_eq!(traces.to_string(), "http://c:3/v1/traces");
        assert_eq!(config.endpoints.get(Signal::Logs), None);
        assert_eq!(parse(Some("http://c:4317"), &[]).unwrap().protocol, Protocol::Grpc);
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        assert_eq!(metrics_of(&parse(None, &[grpc]).unwrap()), "http://localhost:4317/");
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        for (variable, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
            ("OTEL_TRACES_SAMPLER", "mine"),
            ("OTEL_METRICS_EXPORTER", "prometheus"),
            ("OTEL_RESOURCE_ATTRIBUTES", "a"),
        ] {
            assert!(parse(None, &[(variable, value)]).is_err(), "{variable}={value}");
            assert!(parse(None, &[(variable, " ")]).is_ok(), "{variable} is empty");
        }
        let secret = parse(None, &[("OTEL_EXPORTER_OTLP_HEADERS", "key:secret")]).unwrap_err();
        assert!(!secret.to_string().contains("secret"), "{secret}");
    }
}
