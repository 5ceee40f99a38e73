//! What switches sampled: a few lines and a table for each.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bit_rate, bytes, count, counted, duration, percent};
use super::sentence;
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::sampled::{
    EstimateReport, MeanReport, SampledInterfaceReport, SampledQueueReport, SampledReport,
    ShareReport, TalkerReport,
};

/// Writes them, if there are any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    for switch in report.sampled.iter().take(options.top) {
        let what = format!("{}. Each range holds the truth in 95 of 100 cases.", drawn(switch));
        writeln!(out, "\n{}", sentence::titled(&title(switch), &what, options.width))?;
        for line in lines(switch) {
            writeln!(out, "{}", sentence::line(&line, options.width))?;
        }
        if !switch.pairs.is_empty() {
            let rows: Vec<&TalkerReport> = switch.pairs.iter().take(options.top).collect();
            writeln!(out, "\n{}", render(columns(&rows), options.width))?;
            options.write_more(usize::try_from(switch.pairs_seen).unwrap_or(usize::MAX), out)?;
        }
    }
    options.write_more(report.sampled.len(), out)
}

/// `sFlow of 10.0.0.254`.
pub(in crate::export) fn title(switch: &SampledReport) -> String {
    match switch.sub_agent {
        0 => format!("sFlow of {}", switch.agent),
        part => format!("sFlow of {}, part {part}", switch.agent),
    }
}

/// `1,234 packets drawn, 1 in 1,000, at egress, in 170 datagrams over 10.0 s`.
pub(in crate::export) fn drawn(switch: &SampledReport) -> String {
    let rates = || switch.sources.iter().map(|source| source.rate);
    let rate = match (rates().min(), rates().max()) {
        (Some(low), Some(high)) if low == high => format!(", 1 in {}", count(low.into())),
        (Some(low), Some(high)) => {
            format!(", 1 in {} to 1 in {}", count(low.into()), count(high.into()))
        }
        _ => String::new(),
    };
    let side = match switch.side {
        "ingress" => ", where they came in",
        "egress" => ", where they went out",
        _ => "",
    };
    let lost = match switch.lost_datagrams {
        0 => String::new(),
        lost => format!(" ({} lost)", count(lost)),
    };
    let length = u64::try_from(switch.last_ns - switch.first_ns).unwrap_or(0);
    format!(
        "{} drawn{rate}{side}, in {}{lost} over {}",
        counted(switch.samples, "packet"),
        counted(switch.datagrams, "datagram"),
        duration(length)
    )
}

/// What the samples say, a fact each.
pub(in crate::export) fn lines(switch: &SampledReport) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(frames), Some(carried), Some(cnps)) =
        (&switch.roce_frames, &switch.roce_bytes, &switch.cnps)
    {
        lines.push(format!(
            "RoCE: {} packets, {}; CE marks {}; CNPs {}",
            estimate(frames, count),
            estimate(carried, bytes),
            switch.ce_share.as_ref().map_or_else(|| "unknown".to_owned(), share),
            estimate(cnps, count)
        ));
        lines.push(rhythm(switch));
    }
    if switch.side == "ingress" {
        lines.push(
            "Marks that this switch itself set do not show: it drew packets before it queued them."
                .to_owned(),
        );
    }
    for source in switch.sources.iter().filter(|source| source.measured_rate.is_some()) {
        let measured = source.measured_rate.unwrap_or(0.0).round() as u64;
        lines.push(format!(
            "{} {} says that it draws 1 in {}, but draws 1 in {}: the latter counts here",
            source.class,
            source.index,
            count(source.rate.into()),
            count(measured)
        ));
    }
    lines.extend(switch.queues.first().map(|fullest| queue(fullest, switch.queues_seen)));
    lines.extend(interfaces(switch));
    lines
}

/// `Fullest of 8 egress queues: 3 of port 7, 1.2 MiB (1.1 MiB to 1.3 MiB) before a packet, at most 10 MiB; in
/// the switch 20 µs, at most 1.2 ms`.
fn queue(fullest: &SampledQueueReport, of: u64) -> String {
    let port = fullest.interface.map_or_else(String::new, |index| format!(" of port {index}"));
    let depth = fullest.depth_bytes.as_ref().map(|depth| {
        format!(", {} before a packet, at most {}", mean(depth, bytes), bytes(depth.max))
    });
    let delay = fullest.delay_ns.as_ref().map(|delay| {
        format!("; in the switch {}, at most {}", mean(delay, duration), duration(delay.max))
    });
    format!(
        "Fullest of {}: {}{port}{}{}",
        counted(of, "egress queue"),
        fullest.queue,
        depth.unwrap_or_default(),
        delay.unwrap_or_default()
    )
}

fn mean(of: &MeanReport, words: fn(u64) -> String) -> String {
    match (of.low, of.high) {
        (Some(low), Some(high)) => {
            format!("{} ({} to {})", words(of.value), words(low), words(high))
        }
        _ => format!("{} in {}", words(of.value), counted(of.samples, "sample")),
    }
}

fn rhythm(switch: &SampledReport) -> String {
    match (&switch.rhythm, switch.why_no_rhythm) {
        (Some(rhythm), _) => {
            let [period, low, high] =
                [rhythm.period_ns, rhythm.low_ns, rhythm.high_ns].map(duration);
            // Of a good clock, the range has no digit that is shown.
            let is_sharp = low == period && high == period;
            let range = if is_sharp { String::new() } else { format!(" ({low} to {high})") };
            format!(
                "RoCE traffic repeats every {period}{range}: training steps, or a part or a \
                 multiple of them"
            )
        }
        (None, Some("too_few_samples")) => "Training steps: too few samples to say".to_owned(),
        (None, _) => "Training steps: no rhythm stands out in the samples".to_owned(),
    }
}

/// Counters of interfaces, and that none of them tells of pause.
fn interfaces(switch: &SampledReport) -> Vec<String> {
    if switch.counter_samples == 0 {
        let text = "Pause, discards and load of interfaces: the switch sent no counters";
        return vec![text.to_owned()];
    }
    let load = |one: &SampledInterfaceReport| {
        let peak = one.peak_in_bps.max(one.peak_out_bps)?;
        Some((one.index, peak, one.speed_bps))
    };
    let mut lines = Vec::new();
    let mut known = switch.interfaces.iter().filter_map(load).collect::<Vec<_>>();
    known.sort_by_key(|(index, peak, _)| (std::cmp::Reverse(*peak), *index));
    if let Some((index, peak, speed)) = known.first() {
        let of = speed.map(|speed| format!(" of {}", bit_rate(speed as f64)));
        lines.push(format!(
            "Busiest of {}: number {index}, {}{} between two readings",
            counted(switch.interfaces.len() as u64, "interface"),
            bit_rate(*peak as f64),
            of.unwrap_or_default()
        ));
    }
    let sum = |of: fn(&SampledInterfaceReport) -> Option<u64>| -> Option<u64> {
        switch.interfaces.iter().filter_map(of).reduce(u64::saturating_add)
    };
    let discards = sum(|one| Some(one.in_discards?.saturating_add(one.out_discards?)));
    let errors = sum(|one| Some(one.in_errors?.saturating_add(one.out_errors?)));
    let figure = |sum: Option<u64>| sum.map_or_else(|| "unknown".to_owned(), count);
    lines.push(format!("Discards {}, errors {}", figure(discards), figure(errors)));
    let why = "Pause: unknown, because the counters of sFlow have no pause frames; ask the switch";
    lines.push(why.to_owned());
    lines
}

fn columns(rows: &[&TalkerReport]) -> Vec<Column> {
    let column =
        |cell: &dyn Fn(&TalkerReport) -> String| rows.iter().map(|row| cell(row)).collect();
    vec![
        Column::words("FROM", column(&|row| row.src.clone())),
        Column::words("TO", column(&|row| row.dst.clone())),
        Column::numbers("QPS SEEN", column(&|row| count(row.queue_pairs))).spare(1),
        Column::numbers("SAMPLES", column(&|row| count(row.frames.samples))).spare(3),
        Column::numbers("PACKETS", column(&|row| estimate(&row.frames, count))).spare(2),
        Column::numbers("BYTES", column(&|row| estimate(&row.bytes, bytes))),
        Column::numbers(
            "CE",
            column(&|row| row.ce_share.as_ref().map_or_else(|| "unknown".to_owned(), share)),
        ),
    ]
}

/// `1,200 (1,000 to 1,400)`.
pub(in crate::export) fn estimate(of: &EstimateReport, words: fn(u64) -> String) -> String {
    format!("{} ({} to {})", words(of.value), words(of.low), words(of.high))
}

/// `1.2 % (0.8 to 1.7 %)`.
pub(in crate::export) fn share(of: &ShareReport) -> String {
    format!("{} ({} to {})", percent(of.value), percent(of.low), percent(of.high))
}
