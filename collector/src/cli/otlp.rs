//! `--otlp URL`: exports a report to an OpenTelemetry collector, with the capture's times.

use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use clap::Args;

use super::notice::notice;
use crate::export::otlp::batch::Signal;
use crate::export::otlp::config::OtlpConfig;
use crate::export::otlp::exporter::Exporter;
use crate::export::otlp::{logs, metrics, traces};
use railscope_core::analysis::ledger::{Ending, Ledger};
use railscope_core::metrics::backdated;
use railscope_core::metrics::own::ExportFigures;
use railscope_core::metrics::{self as points};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Analysed;
use railscope_core::report::news::ReportNews;

/// Collectives whose spans are encoded at once.
const COLLECTIVES: usize = 500;
/// How long to wait for a receiver that does not answer, in addition to the timeouts per request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Options, as typed.
#[derive(Args)]
#[command(next_help_heading = "Export")]
pub(super) struct OtlpArgs {
    /// Also export metrics, traces of collectives, verdicts and findings to an OpenTelemetry collector,
    /// with the capture's times; OTEL_* variables set protocol, headers, timeout, signals, sampling and
    /// resource; port 4317 means gRPC, any other HTTP
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Add rank labels to the exported metrics
    #[arg(long, requires = "otlp")]
    otlp_ranks: bool,
}

impl OtlpArgs {
    /// The exporter; `None` without `--otlp`.
    ///
    /// # Errors
    ///
    /// When the URL or an `OTEL_*` variable is not valid.
    pub(super) fn exporter(&self) -> anyhow::Result<Option<Exporter>> {
        let Some(url) = self.otlp.as_deref() else { return Ok(None) };
        #[expect(clippy::disallowed_methods, reason = "cli reads the environment, once")]
        let config = OtlpConfig::from_environment(Some(url), |name| std::env::var(name).ok())?;
        Ok(Some(Exporter::start(config).context("export by OTLP")?))
    }

    /// Exports the report, and prints how much was sent.
    ///
    /// # Errors
    ///
    /// When the receiver did not accept everything.
    pub(super) fn send(&self, analysed: &Analysed, exporter: Exporter) -> anyhow::Result<()> {
        let Analysed { understanding, report } = analysed;
        let settings = points::Settings { ranks: self.otlp_ranks, ..points::Settings::default() };
        let config = exporter.config();
        let (resource, ratio) = (config.resource.clone(), config.trace_ratio);
        let points = backdated::points(understanding, report.capture.span(), &settings);
        exporter.send_patiently(metrics::batches(&points, &resource), PATIENCE);
        let news = Ledger::default().news(understanding, Ending::Closed);
        let news = ReportNews::new(report, &news);
        for some in news.collectives.chunks(COLLECTIVES) {
            let batches = traces::batches(report, some, ratio, &resource);
            exporter.send_patiently(batches, PATIENCE);
        }
        let records = logs::batches(report, &news, now(), &resource);
        exporter.send_patiently(records, PATIENCE);
        let (figures, trouble) = exporter.finish(PATIENCE);
        say(&figures);
        let is_lost = |(_, one): &(Signal, ExportFigures)| {
            one.rejected > 0 || one.dropped > 0 || one.failed > 0
        };
        if figures.iter().any(is_lost) {
            match trouble {
                Some(trouble) => bail!("OTLP export incomplete: {trouble}"),
                None => bail!("OTLP export incomplete"),
            }
        }
        Ok(())
    }
}

/// Prints one line for everything sent, and one for each kind of loss.
fn say(figures: &[(Signal, ExportFigures)]) {
    let sent = figures.iter().map(|(signal, one)| format!("{} {}", one.sent, items(*signal)));
    notice(format!("otlp: sent {}", sent.collect::<Vec<_>>().join(", ")));
    for (signal, one) in figures {
        let lost = [
            (one.rejected, "were rejected by the receiver"),
            (one.failed, "failed and will not be retried"),
            (one.dropped, "were dropped: the receiver did not answer in time"),
        ];
        for (count, what) in lost.into_iter().filter(|(count, _)| *count > 0) {
            notice(format!("otlp: {count} {} {what}", items(*signal)));
        }
    }
}

const fn items(signal: Signal) -> &'static str {
    match signal {
        Signal::Metrics => "points",
        Signal::Traces => "spans",
        Signal::Logs => "log records",
    }
}

fn now() -> Timestamp {
    #[expect(clippy::disallowed_methods, reason = "when findings were found")]
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
