//! OTLP, configured by the agent's settings and OpenTelemetry's variables.

use std::time::Duration;

use anyhow::Context;

use super::secret;
use crate::config::{Config, HeaderSource, OtlpConfig as OtlpSettings, OtlpProtocol};
use crate::export::otlp::batch::Signal;
use crate::export::otlp::config::OtlpConfig;
use crate::export::otlp::exporter::Exporter;
use crate::export::otlp::{logs, metrics, traces};
use railscope_core::metrics::own::ExportFigures;
use railscope_core::metrics::point::Point;
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::news::ReportNews;

/// The exporter, and its latest problem.
pub(super) struct Otlp {
    exporter: Exporter,
    trouble: Option<String>,
}

impl Otlp {
    /// Starts to export; `None` if OTLP is off or has no endpoint.
    pub(super) fn start(
        config: &Config,
        host: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Option<Self>> {
        let settings = &config.otlp;
        let Some(endpoint) = settings.endpoint.as_deref().filter(|_| settings.enabled) else {
            return Ok(None);
        };
        let headers = headers(settings, variable)?;
        // The settings already include these variables.
        let settled = |name: &str| match name {
            "OTEL_EXPORTER_OTLP_PROTOCOL" => Some(protocol(settings.protocol).to_owned()),
            "OTEL_EXPORTER_OTLP_HEADERS" => Some(headers.clone()),
            other => variable(other),
        };
        let mut otlp = OtlpConfig::from_environment(Some(endpoint), settled).context("OTLP")?;
        otlp.trace_ratio = settings.sampling;
        otlp.queue_bytes = usize::try_from(settings.queue.0).unwrap_or(usize::MAX);
        let said: Vec<_> = otlp.resource.iter().map(|(name, _)| name.to_owned()).collect();
        let usual = [("service.name", "railscope"), ("host.name", host)];
        for (name, value) in
            usual.into_iter().filter(|(name, _)| !said.iter().any(|one| one == name))
        {
            otlp.resource.set(name, value);
        }
        let exporter = Exporter::start(otlp).context("OTLP")?;
        Ok(Some(Self { exporter, trouble: None }))
    }

    /// Queues the news of a report.
    pub(super) fn send(&mut self, report: &Report, news: &ReportNews<'_>, now: Timestamp) {
        let config = self.exporter.config();
        let resource = &config.resource;
        let spans = traces::batches(report, &news.collectives, config.trace_ratio, resource);
        self.exporter.send(spans);
        self.exporter.send(logs::batches(report, news, now, resource));
    }

    /// Queues metrics. `say` takes a message when a problem begins or ends.
    pub(super) fn send_metrics(&mut self, points: &[Point], say: &mut dyn FnMut(String)) {
        self.exporter.send(metrics::batches(points, &self.exporter.config().resource));
        let trouble = self.exporter.trouble();
        if trouble != self.trouble {
            say(match &trouble {
                Some(trouble) => format!("OTLP: {trouble}"),
                None => "OTLP: the receiver accepts everything again".to_owned(),
            });
            self.trouble = trouble;
        }
    }

    /// Items sent, dropped and queued so far.
    pub(super) fn figures(&self) -> Vec<(&'static str, ExportFigures)> {
        named(self.exporter.figures())
    }

    /// Sends what is queued, and reports what could not be sent.
    pub(super) fn finish(self, within: Duration, say: &mut dyn FnMut(String)) {
        let (figures, trouble) = self.exporter.finish(within);
        let dropped: u64 = figures.iter().map(|(_, figures)| figures.dropped).sum();
        if dropped > 0 {
            let why = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
            say(format!("OTLP: {dropped} points, spans and records were not sent{why}"));
        }
    }
}

fn named(figures: [(Signal, ExportFigures); 3]) -> Vec<(&'static str, ExportFigures)> {
    figures.into_iter().map(|(signal, figures)| (signal.name(), figures)).collect()
}

/// What is wrong with files of headers that are sent.
#[must_use]
pub fn problem(config: &Config, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let settings = Some(&config.otlp).filter(|otlp| otlp.enabled && otlp.endpoint.is_some())?;
    let error = headers(settings, variable).err()?;
    Some(format!("{error:#}"))
}

/// Headers as `OTEL_EXPORTER_OTLP_HEADERS` has them: percent-encoded pairs.
fn headers(
    settings: &OtlpSettings,
    variable: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<String> {
    let pair = |(name, source): (&String, &HeaderSource)| {
        let value = match source {
            HeaderSource::Text(text) => text.clone(),
            HeaderSource::File(path) => {
                secret::read(path, variable).with_context(|| format!("otlp.headers.{name}"))?
            }
        };
        let value: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        Ok(format!("{name}={value}"))
    };
    let pairs: anyhow::Result<Vec<String>> = settings.headers.iter().map(pair).collect();
    Ok(pairs?.join(","))
}

const fn protocol(protocol: OtlpProtocol) -> &'static str {
    match protocol {
        OtlpProtocol::Grpc => "grpc",
        OtlpProtocol::HttpProtobuf => "http/protobuf",
    }
}
