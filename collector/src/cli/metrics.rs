//! `railscope metrics`: the catalogue of metrics, with example queries.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::{health, terminal};
use crate::export::text::paragraph;
use railscope_core::metrics::attribute;
use railscope_core::metrics::catalog;
use railscope_core::metrics::metric::{Instrument, Metric, Unit};
use railscope_core::metrics::queries;

/// Options of `railscope metrics`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  railscope metrics                       names, units and meanings
  railscope metrics --format markdown     dashboards/METRICS.md: also limits and queries
  railscope metrics --health              what each counter of a report's `health` means")]
pub(super) struct MetricsArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Explain the `health` counters instead: data that was lost, skipped or not understood
    #[arg(long)]
    health: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a terminal
    Text,
    /// A documentation page
    Markdown,
}

pub(super) fn run(args: &MetricsArgs) -> anyhow::Result<()> {
    let mut out = BufWriter::new(anstream::stdout().lock());
    let written = match (args.format, args.health) {
        (Format::Text, false) => write_text(&mut out),
        (Format::Markdown, false) => write_markdown(&mut out),
        (Format::Text, true) => health::write_text(&mut out),
        (Format::Markdown, true) => health::write_markdown(&mut out),
    };
    written.and_then(|()| out.flush()).context("write to standard output")
}

fn write_text(out: &mut impl Write) -> io::Result<()> {
    let width = terminal::width();
    for (at, group) in catalog::ALL.iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        writeln!(out, "{gap}{}", group.heading)?;
        for metric in group.metrics {
            writeln!(out, "\n  {} [{}], {}", metric.name, metric.unit.ucum(), kind(metric))?;
            writeln!(out, "{}", paragraph(metric.about, width))?;
        }
    }
    Ok(())
}

const INTRODUCTION: &str = "\
# Metrics

Printed by `railscope metrics --format markdown`.

OTLP and Prometheus text carry the same points with the same numbers.
Prometheus names are derived from OpenTelemetry names by OpenTelemetry's own rule, so scraping and OTLP \
give the same Prometheus name: dots become underscores, the unit is appended (`s` as `_seconds`, `By` as `_bytes`, `By/s` as \
`_bytes_per_second`; `1` and units in braces add nothing), counters end in `_total`.
Attributes become labels in the same way: `nccl.collective.kind` is `nccl_collective_kind`.

* **Unknown values have no point.** A missing source never reads as 0: `railscope.source.visible`, \
`railscope.finding.not_checked` and `railscope.training_step.unknown` say what is not visible.
* **Every training step counts once**, in counters and histograms, when the next one begins. A gauge would \
lose steps between two scrapes. Step numbers are in spans and logs.
* **Series are bounded.** The bound of a metric is the product of its attributes' values. Values beyond it \
are left out, and `railscope.series.refused` counts them. QPNs, PSNs, GIDs and process IDs are never \
attributes. Attributes in italics are exported only if turned on, and they multiply the series; a metric \
then has at most 65,536 series.
* **A packet seen by several taps counts once.** Port rates are from one tap.
";

fn write_markdown(out: &mut impl Write) -> io::Result<()> {
    write!(out, "{INTRODUCTION}")?;
    for group in catalog::ALL {
        writeln!(out, "\n## {}\n", group.heading.trim_end_matches('.'))?;
        writeln!(
            out,
            "| OpenTelemetry | Prometheus | unit | kind | attributes | max. series | description |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|")?;
        for metric in group.metrics {
            let Metric { name, unit, about, .. } = metric;
            let (unit, kind, series) = (unit.ucum(), kind(metric), bound(metric));
            let (prometheus, attributes) = (metric.prometheus_name(), attributes(metric));
            writeln!(
                out,
                "| `{name}` | `{prometheus}` | `{unit}` | {kind} | {attributes} | {series} | {about}. |"
            )?;
        }
    }
    write_buckets(out)?;
    writeln!(out, "\n## Attributes\n")?;
    writeln!(out, "| attribute | label | max. values | description |")?;
    writeln!(out, "|---|---|---|---|")?;
    for one in attribute::ALL {
        let label = one.name.replace('.', "_");
        let name = emphasized(one.name, one.is_optional);
        writeln!(out, "| {name} | `{label}` | {} | {} |", one.values, one.about)?;
    }
    writeln!(out, "\n## Questions\n")?;
    writeln!(out, "Replace `[5m]` with at least four scrape intervals.")?;
    for query in queries::ALL {
        writeln!(out, "\n**{}** {}\n", query.question, query.reading)?;
        writeln!(out, "```promql\n{}\n```", query.promql)?;
    }
    Ok(())
}

fn write_buckets(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n## Buckets of histograms\n")?;
    let mut seen: Vec<Unit> = Vec::new();
    for metric in catalog::all() {
        let Instrument::Histogram(bounds) = metric.instrument else { continue };
        if seen.contains(&metric.unit) {
            continue;
        }
        seen.push(metric.unit);
        let mut list = String::new();
        for bound in bounds {
            let value = metric.unit.scaled(*bound).unwrap_or(*bound as f64);
            // Writing to a String cannot fail.
            let _ = write!(list, "{value}, ");
        }
        writeln!(out, "* `{}`: {}.", metric.unit.ucum(), list.trim_end_matches(", "))?;
    }
    Ok(())
}

const fn kind(metric: &Metric) -> &'static str {
    match metric.instrument {
        Instrument::Counter => "counter",
        Instrument::Gauge => "gauge",
        Instrument::Histogram(_) => "histogram",
    }
}

fn attributes(metric: &Metric) -> String {
    let named = metric.attributes.iter().map(|one| emphasized(one.name, one.is_optional));
    named.collect::<Vec<_>>().join(", ")
}

fn emphasized(name: &str, is_optional: bool) -> String {
    if is_optional { format!("*`{name}`*") } else { format!("`{name}`") }
}

/// `2 directions x 512 ports = 1,024` without the words, which the attributes' table has.
fn bound(metric: &Metric) -> String {
    let factors = metric.required().filter(|one| one.values > 1).map(|one| one.values.to_string());
    let factors = factors.collect::<Vec<_>>();
    match factors.len() {
        0 | 1 => metric.bound().to_string(),
        _ => format!("{} = {}", factors.join(" × "), metric.bound()),
    }
}
