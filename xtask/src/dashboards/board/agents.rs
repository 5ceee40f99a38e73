//! Agents: can the other boards be believed?

use super::shared::seen_or_not;
use super::uid::AGENTS;
use crate::dashboards::layout::Board;
use crate::dashboards::model::dashboard::Dashboard;
use crate::dashboards::model::field::{GREEN, GREY, Override, RED, Thresholds, Unit};
use crate::dashboards::model::panel::Panel;
use crate::dashboards::model::view::View;

/// Share of a CPU and bytes of memory that an agent should not exceed: see docs/speed.md.
const CPU: f64 = 0.02;
const MEMORY: f64 = 48.0 * 1024.0 * 1024.0;

pub(super) fn board() -> Dashboard {
    Board::new(AGENTS, "railscope / Agents", "Do the agents see everything, and what do they cost?")
        .row(4, [
            are_up(),
            are_blind(),
            tile("Frames lost?", Unit::Share)
                .about("Share of frames that taps are known to have lost, at the worst agent. Above 0.1 % \
                        figures of flows are too low.")
                .query(
                    "max(rate(railscope_tap_lost_total{$F}[$__rate_interval]) \
                     / (rate(railscope_tap_frames_total{$F}[$__rate_interval]) > 0))",
                    "lost",
                )
                .decimals(2)
                .thresholds(Thresholds::above(0.000_01, 0.001))
                .without_answer("no packets visible"),
            tile("Series refused?", Unit::Number)
                .about("Values that agents left out because a metric had too many series. Then boards miss \
                        ports or ranks: turn labels off.")
                .query(
                    "sum(railscope_series_refused_total{$F}) or 0 * max(railscope_report_count_total{$F})",
                    "refused",
                )
                .thresholds(Thresholds::warn_from(1.0)),
            tile("Exports lost?", Unit::PerSecond)
                .about("Points, spans and log records a second that no OTLP receiver took.")
                .query(
                    "sum(rate(railscope_export_items_total{$F, \
                     railscope_outcome=~\"dropped|failed|rejected\"}[$__rate_interval]))",
                    "lost",
                )
                .thresholds(Thresholds::warn_from(0.01))
                .without_answer("OTLP is off"),
            tile("CPU of an agent?", Unit::Cpus)
                .about("CPU time of the costliest agent with its kernel programs, as a share of one CPU.")
                .query(CPU_BY_AGENT_MOST, "CPU")
                .decimals(2)
                .thresholds(Thresholds::warn_from(CPU)),
            tile("Memory of an agent?", Unit::Bytes)
                .about("Private memory of the largest agent. 48 MiB are enough for 1,000 queue pairs.")
                .query("max(railscope_memory_usage_bytes{$F})", "memory")
                .decimals(0)
                .thresholds(Thresholds::warn_from(MEMORY)),
            tile("One version?", Unit::Number)
                .about("Different versions of agents. More than one during a rollout only.")
                .query("count(count by (railscope_version) (railscope_build_info{$F}))", "versions")
                .thresholds(Thresholds::warn_from(2.0)),
        ])
        .row(7, [visible(), blind()])
        .row(7, [cpu(), memory(), drops()])
        .row(6, [unchecked(), health(), versions()])
        .heading("Why? What agents do, and what they could not read")
        .row(8, [reports(), frames(), refused()])
        .row(8, [parts(), exports(), scrapes()])
        .finish()
}

fn tile(title: &str, unit: Unit) -> Panel {
    Panel::new(View::Stat, title).unit(unit).wide(3).without_answer("no agent reports")
}

fn are_up() -> Panel {
    tile("Are all agents up?", Unit::Share)
        .about("Share of agents that can be scraped.")
        .query("avg(up{$F})", "up")
        .decimals(0)
        .thresholds(Thresholds::below(0.9, 1.0))
        .without_answer("no agent is scraped")
}

fn are_blind() -> Panel {
    tile("Is an agent blind?", Unit::Number)
        .about("Agents of which no source sees anything. Nothing is known about their hosts.")
        .query(
            "count(max by (instance) (railscope_source_visible{$F}) == 0) \
             or 0 * count(railscope_source_visible{$F})",
            "blind",
        )
        .thresholds(Thresholds::bad_from(1.0))
}

/// CPU time a second of each agent.
const CPU_BY_AGENT: &str =
    "sum by (instance) (rate(railscope_cpu_time_seconds_total{$F}[$__rate_interval]))";
const CPU_BY_AGENT_MOST: &str =
    "max(sum by (instance) (rate(railscope_cpu_time_seconds_total{$F}[$__rate_interval])))";

fn visible() -> Panel {
    Panel::new(View::StateTimeline, "Which sources see their data?")
        .about(
            "Each source of each agent over time. Grey: it sees nothing, so its values are unknown, not 0. \
             The reason is in the table beside.",
        )
        .query(
            "max by (instance, railscope_source) (railscope_source_visible{$F})",
            "{{instance}} {{railscope_source}}",
        )
        .mapping(seen_or_not())
        .thresholds(Thresholds(vec![(None, GREY), (Some(1.0), GREEN)]))
        .option("showValue", serde_json::json!("never"))
        .without_answer("no agent reports")
        .wide(12)
}

fn blind() -> Panel {
    Panel::new(View::Table, "Which sources see nothing, and why?")
        .about("`railscope agent --check` on the host says what is missing.")
        .query(
            "max by (instance, railscope_source, railscope_device, railscope_reason) \
             (railscope_source_visible{$F} == 0)",
            "",
        )
        .columns(&[
            ("instance", "Host"),
            ("railscope_source", "Source"),
            ("railscope_device", "Device"),
            ("railscope_reason", "Reason"),
        ])
        .without_answer("all sources of the agents that report see their data")
        .wide(12)
        .runbook("rdma_not_visible")
}

fn cpu() -> Panel {
    Panel::new(View::TimeSeries, "How much CPU do agents take?")
        .about("CPU time of the ten costliest agents with their kernel programs, as a share of one CPU.")
        .query(&format!("topk(10, {CPU_BY_AGENT})"), "{{instance}}")
        .unit(Unit::Cpus)
        .from(0.0)
        .limits(Thresholds::warn_from(CPU))
        .without_answer("no agent reports")
}

fn memory() -> Panel {
    Panel::new(View::TimeSeries, "How much memory do agents take?")
        .about("Private memory of the ten largest agents.")
        .query("topk(10, max by (instance) (railscope_memory_usage_bytes{$F}))", "{{instance}}")
        .unit(Unit::Bytes)
        .from(0.0)
        .limits(Thresholds::warn_from(MEMORY))
        .without_answer("no agent reports")
}

fn drops() -> Panel {
    Panel::new(View::TimeSeries, "Which taps lose frames?")
        .about("Share of frames that a tap is known to have lost: the agent is too slow, or the mirror drops.")
        .query(
            "topk(10, max by (instance, railscope_tap) (rate(\
             railscope_tap_lost_total{$F}[$__rate_interval]) \
             / (rate(railscope_tap_frames_total{$F}[$__rate_interval]) > 0)))",
            "{{instance}} {{railscope_tap}}",
        )
        .unit(Unit::Share)
        .from(0.0)
        .without_answer("no packets visible")
}

fn unchecked() -> Panel {
    Panel::new(View::Table, "Which findings are not checked, and why?")
        .about("Their absence means nothing on these agents.")
        .query(
            "count by (railscope_finding, railscope_reason) (railscope_finding_not_checked{$F})",
            "",
        )
        .columns(&[
            ("railscope_finding", "Finding"),
            ("railscope_reason", "Reason"),
            ("Value", "Agents"),
        ])
        .field(Override::of_field("Agents").width(80))
        .without_answer("all agents that report check all findings")
}

fn health() -> Panel {
    Panel::new(View::Table, "What was missed, dropped or unknown?")
        .about("Counters of the latest reports, summed over agents; docs/HEALTH.md explains each.")
        .query("sort_desc(sum by (railscope_health) (railscope_health_events{$F}) > 0)", "")
        .columns(&[("railscope_health", "What"), ("Value", "Count")])
        .field(Override::of_field("Count").width(110))
        .without_answer("nothing, at the agents that report")
}

fn versions() -> Panel {
    Panel::new(View::Table, "Which versions run?")
        .about("Agents by version, and by commit where the build knew it.")
        .query("count by (railscope_version, railscope_commit) (railscope_build_info{$F})", "")
        .columns(&[
            ("railscope_version", "Version"),
            ("railscope_commit", "Commit"),
            ("Value", "Agents"),
        ])
        .without_answer("no agent reports")
}

fn reports() -> Panel {
    Panel::new(View::TimeSeries, "How often do agents report?")
        .about(
            "Reports a second of the slowest and the mean agent. At least one in 30 s: with many queue \
             pairs, reports come less often than otlp.interval, so that they cost at most 0.2 % of a CPU.",
        )
        .query("min(rate(railscope_report_count_total{$F}[$__rate_interval]))", "slowest")
        .query("avg(rate(railscope_report_count_total{$F}[$__rate_interval]))", "mean")
        .query("avg(rate(railscope_update_count_total{$F}[$__rate_interval]))", "updates of flows")
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no agent reports")
}

fn frames() -> Panel {
    Panel::new(View::TimeSeries, "How many frames do agents see?")
        .about(
            "Frames a second of the ten busiest taps. A tap that falls to 0 during a job is blind.",
        )
        .query(
            "topk(10, sum by (instance, railscope_tap) (rate(\
             railscope_tap_frames_total{$F}[$__rate_interval])))",
            "{{instance}} {{railscope_tap}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("no packets visible")
}

fn refused() -> Panel {
    Panel::new(View::TimeSeries, "Which headers could not be decoded?")
        .about("Frames a second by layer and reason. Truncated frames are normal with a short snap length.")
        .query(
            "topk(10, sum by (error_type) (rate(railscope_decode_refused_total{$F}[$__rate_interval])))",
            "{{error_type}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .without_answer("none, or no packets visible")
}

fn parts() -> Panel {
    Panel::new(View::TimeSeries, "Which part of the agent takes the CPU?")
        .about("CPU time over all agents, by part: the agent itself, and each kernel program.")
        .query(
            "topk(10, sum by (railscope_part) (rate(\
             railscope_cpu_time_seconds_total{$F}[$__rate_interval])))",
            "{{railscope_part}}",
        )
        .unit(Unit::Cpus)
        .from(0.0)
        .without_answer("no agent reports")
}

fn exports() -> Panel {
    Panel::new(View::TimeSeries, "Does the OTLP receiver take everything?")
        .about("Items a second by signal and outcome. Dropped: the queue was full, the receiver is slow.")
        .query(
            "sum by (railscope_signal, railscope_outcome) (rate(\
             railscope_export_items_total{$F}[$__rate_interval]))",
            "{{railscope_signal}} {{railscope_outcome}}",
        )
        .unit(Unit::PerSecond)
        .from(0.0)
        .field(Override::of_fields("/.*(dropped|failed|rejected)/").color(RED))
        .without_answer("OTLP is off")
}

fn scrapes() -> Panel {
    Panel::new(View::TimeSeries, "How large are the agents' pages?")
        .about("Series in one scrape, for the ten largest pages.")
        .query("topk(10, max by (instance) (scrape_samples_scraped{$F}))", "{{instance}}")
        .unit(Unit::Number)
        .from(0.0)
        .without_answer("no agent is scraped")
}
