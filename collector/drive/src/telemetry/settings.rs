//! Where to send, and how: `--otlp`, and the variables that the SDK leaves to the application. It
//! reads the others itself: headers, timeouts, queue, sampler, resource.

use std::time::Duration;

/// Kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
}

/// How to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// `grpc`
    Grpc,
    /// `http/protobuf`
    Http,
}

/// Settings of one signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    /// The URL; `None`: the SDK takes it from its variables.
    pub(super) url: Option<String>,
    pub(super) protocol: Protocol,
    pub(super) is_https: bool,
    /// Limit of one request.
    pub(super) timeout: Duration,
}

/// Settings of both signals; `None` for a signal that is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub(super) traces: Option<Destination>,
    pub(super) metrics: Option<Destination>,
}

/// The specification's default.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Signal {
    /// The name in variables.
    const fn upper(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        }
    }

    /// The path of OTLP over HTTP.
    const fn path(self) -> &'static str {
        match self {
            Self::Traces => "v1/traces",
            Self::Metrics => "v1/metrics",
        }
    }
}

impl Settings {
    /// The settings for `--otlp URL` and the environment; `None` if neither names a receiver, or
    /// `OTEL_SDK_DISABLED` is `true`.
    ///
    /// # Errors
    /// The value of a variable is not supported.
    pub fn new(
        url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let traces = destination(Signal::Traces, url, &variable)?;
        let metrics = destination(Signal::Metrics, url, &variable)?;
        let is_wanted = traces.is_some() || metrics.is_some();
        Ok(is_wanted.then_some(Self { traces, metrics }))
    }
}

fn destination(
    signal: Signal,
    url: Option<&str>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Option<Destination>, String> {
    let upper = signal.upper();
    match variable(&format!("OTEL_{upper}_EXPORTER")).as_deref() {
        None | Some("otlp") => {}
        Some("none") => return Ok(None),
        Some(other) => return Err(format!("OTEL_{upper}_EXPORTER={other}: use otlp or none")),
    }
    // As in the specification, a signal's own variable wins.
    let own = |name: &str| {
        let own = variable(&format!("OTEL_EXPORTER_OTLP_{upper}_{name}"));
        own.or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
    };
    let Some(endpoint) = url.map(str::to_owned).or_else(|| own("ENDPOINT")) else {
        return Ok(None);
    };
    if !["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme)) {
        return Err(format!("{endpoint}: write http://host:port or https://host:port"));
    }
    let protocol = match own("PROTOCOL").as_deref() {
        Some("grpc") => Protocol::Grpc,
        Some("http/protobuf") => Protocol::Http,
        Some(other) => {
            return Err(format!("OTEL_EXPORTER_OTLP_PROTOCOL={other}: use grpc or http/protobuf"));
        }
        // The same for all of railscope's commands with --otlp; the SDK's default is HTTP.
        None if url.is_some_and(|url| port(url) == Some(4317)) => Protocol::Grpc,
        None => Protocol::Http,
    };
    let timeout = match own("TIMEOUT") {
        Some(text) => match text.parse() {
            Ok(ms) if ms > 0 => Duration::from_millis(ms),
            _ => return Err(format!("OTEL_EXPORTER_OTLP_TIMEOUT={text}: use milliseconds")),
        },
        None => TIMEOUT,
    };
    let url = url.map(|url| match protocol {
        Protocol::Grpc => url.to_owned(),
        Protocol::Http => format!("{}/{}", url.trim_end_matches('/'), signal.path()),
    });
    let is_https = endpoint.starts_with("https://");
    Ok(Some(Destination { url, protocol, is_https, timeout }))
}

/// The port in `http://host:port/path`.
fn port(url: &str) -> Option<u16> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    authority.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Protocol, Settings, Signal, destination};

    fn made(url: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        Settings::new(url, |name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_option_or_a_variable_turns_it_on() {
        assert_eq!(made(None, &[]), Ok(None));
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4317");
        let by_variable = made(None, &[endpoint]).unwrap().unwrap();
        // The SDK reads the endpoint itself, and its default is HTTP whatever the port.
        let traces = by_variable.traces.unwrap();
        assert_eq!((traces.url, traces.protocol), (None, Protocol::Http));
        assert!(by_variable.metrics.is_some());
        let only = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://otel:4318/v1/traces");
        assert_eq!(made(None, &[only]).unwrap().unwrap().metrics, None);
        assert_eq!(made(Some("http://o"), &[("OTEL_SDK_DISABLED", "true")]), Ok(None));
        let none = ("OTEL_METRICS_EXPORTER", "none");
        assert_eq!(made(Some("http://o"), &[none]).unwrap().unwrap().metrics, None);
    }

    #[test]
    fn an_option_means_what_it_means_to_analyze() {
        let traces = |url: &str, variables: &[(&str, &str)]| {
            let traces = made(Some(url), variables).unwrap().unwrap().traces.unwrap();
            (traces.protocol, traces.url.unwrap())
        };
        let (http, grpc) = (Protocol::Http, Protocol::Grpc);
        assert_eq!(traces("http://o:4318/", &[]), (http, "http://o:4318/v1/traces".to_owned()));
        assert_eq!(traces("http://o:4317", &[]), (grpc, "http://o:4317".to_owned()));
        let protocol = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        assert_eq!(traces("http://[::1]:9", &[protocol]), (grpc, "http://[::1]:9".to_owned()));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf");
        assert_eq!(traces("http://o/x", &[protocol, own]).1, "http://o/x/v1/traces");
        let timeout = |_: &str| Some("250".to_owned());
        let wrong = destination(Signal::Traces, Some("http://o"), &timeout).unwrap_err();
        assert!(wrong.contains("OTEL_TRACES_EXPORTER=250"), "{wrong}");
        let json = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json");
        assert!(made(Some("http://o"), &[json]).unwrap_err().contains("use grpc or"));
        assert!(made(Some("o:4318"), &[]).unwrap_err().contains("o:4318: write http://"));
        let slow = ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon");
        assert!(made(Some("http://o"), &[slow]).unwrap_err().contains("use milliseconds"));
    }
}
