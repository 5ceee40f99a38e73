//! Names, numbers and units of what is compared.

use railscope_core::compare::difference::Difference;
use railscope_core::compare::total::TotalReport;
use railscope_core::report::words::number::{bit_rate, byte_rate, bytes, count, duration, percent};

/// Changes beyond 1,000 % are shown in units.
const MOST_PERCENT: f64 = 10.0;

/// Name, and the words behind an amount of time in the sentence on what a change is made of.
const NAMES: &[(&str, &str, &str)] = &[
    ("step_time", "training step", ""),
    (
        "idle_time",
        "no collective in flight",
        "time without a collective in flight: compute, data loading or the host",
    ),
    ("communication_time", "a collective in flight", "time with a collective in flight"),
    ("late_compute", "others waited: late compute", "waiting for a rank that computed longer"),
    ("late_enqueue", "others waited: late call", "waiting for a rank that called late"),
    ("late_sender", "others waited: late sender", "waiting for a rank that sent late"),
    ("late_receiver", "others waited: slow receiver", "waiting for a slow receiver"),
    ("late_congestion", "others waited: congestion", "waiting for a congested path"),
    ("late_loss", "others waited: loss", "waiting for lost packets to be sent again"),
    ("late_pause", "others waited: pause", "waiting for a paused port"),
    ("late_socket", "others waited: socket", "waiting for a stalled socket"),
    ("late_unknown", "others waited: cause unknown", "waiting for a rank, cause unknown"),
    ("start_wait", "rank: before its first packet", ""),
    ("sender_wait", "rank: data ready, not sent", ""),
    ("receiver_wait", "rank: no receive buffer", ""),
    ("input_wait", "rank: waits for data to forward", ""),
    ("transfer", "rank: data flowing", ""),
    ("recovery", "rank: lost data recovered", ""),
    ("rank_paused", "rank: paused", ""),
    ("retransmitted", "retransmitted packets", ""),
    ("ce_share", "CE-marked packets", ""),
    ("cnps", "CNPs", ""),
    ("paused", "time some port was paused", ""),
];

fn known(measure: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    NAMES.iter().find(|(name, ..)| *name == measure)
}

/// The name of a row.
pub(super) fn name(row: &Difference) -> String {
    if let Some(kind) = &row.kind {
        let size = row.bytes.map_or_else(|| "size unknown".to_owned(), bytes);
        return format!("{kind}, {size}");
    }
    known(&row.measure).map_or_else(|| row.measure.clone(), |(_, name, _)| (*name).to_owned())
}

/// What a part of a change is, behind its time.
pub(super) fn explanation(row: &Difference) -> String {
    known(&row.measure).map_or_else(|| name(row), |(.., words)| (*words).to_owned())
}

/// The name of a figure of the whole report.
pub(super) fn total(one: &TotalReport) -> String {
    let name = match one.name.as_str() {
        "retransmitted" => "retransmitted",
        "missing" => "missing packets",
        "out_of_order" => "out of order",
        "rnr_naks" => "RNR NAKs",
        "ce" => "CE-marked",
        "round_trip" => "median round trip",
        "cnps" => "CNPs",
        "longest_paused" => "pause of the port paused longest",
        other => other,
    };
    match (one.of, &one.src, &one.dst) {
        ("path", Some(src), Some(dst)) => format!("{src} → {dst}: {name}"),
        ("counter", ..) => format!("NIC counters: {name}"),
        _ => name.to_owned(),
    }
}

/// A value without sign.
pub(super) fn absolute(unit: &str, value: f64) -> String {
    let whole = value.abs().round() as u64;
    match unit {
        "ns" => duration(whole),
        "share" => percent(value.abs()),
        "bytes/s" => byte_rate(whole),
        "bits/s" => bit_rate(value.abs()),
        "ns/s" => format!("{}/s", duration(whole)),
        _ => {
            let number = if value.abs() >= 100.0 || value.fract() == 0.0 {
                count(whole)
            } else {
                format!("{:.2}", value.abs())
            };
            unit.strip_suffix("/s").map_or_else(|| number.clone(), |_| format!("{number}/s"))
        }
    }
}

/// A value.
pub(super) fn amount(unit: &str, value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", absolute(unit, value))
}

fn signed(unit: &str, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", amount(unit, value))
}

/// Whether the interval of a row, taken alone, excludes 0.
pub(super) fn excludes_zero(row: &Difference) -> bool {
    row.change_low.is_some_and(|low| low > 0.0) || row.change_high.is_some_and(|high| high < 0.0)
}

/// `5 %`.
pub(super) fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `+5.1 %`.
fn signed_percent(share: f64) -> String {
    signed("share", share)
}

/// The change of a row, in percent if it has a value before.
pub(super) fn change(row: &Difference) -> String {
    match (row.relative, row.change) {
        (_, Some(change)) if row.unit == "share" => {
            let points = change * 100.0;
            let sign = if points > 0.0 { "+" } else { "" };
            format!("{sign}{points:.2} points")
        }
        (Some(share), Some(_)) if share.abs() <= MOST_PERCENT => signed_percent(share),
        (_, Some(change)) => signed(row.unit, change),
        _ => String::new(),
    }
}

/// The interval of a row, in percent of before, else in its unit.
pub(super) fn interval(row: &Difference) -> String {
    let relative = (row.relative_low, row.relative_high);
    let absolute = (row.change_low, row.change_high);
    match (relative, absolute) {
        ((Some(low), Some(high)), _)
            if row.unit != "share" && low.abs().max(high.abs()) <= MOST_PERCENT =>
        {
            pair("share", low, high)
        }
        (_, (Some(low), Some(high))) => pair(row.unit, low, high),
        _ => String::new(),
    }
}

fn pair(unit: &str, low: f64, high: f64) -> String {
    let (low, high) = (signed(unit, low), signed(unit, high));
    match low.strip_suffix(" %") {
        Some(low) if high.ends_with(" %") => format!("{low} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// `95 %: -0.4 to +0.6 %`, in a sentence.
pub(super) fn interval_words(row: &Difference) -> String {
    match interval(row).as_str() {
        "" => "no interval".to_owned(),
        interval => format!("95 %: {interval}"),
    }
}

/// The smallest change that this much data shows.
pub(super) fn smallest(row: &Difference) -> String {
    match (row.smallest_relative, row.smallest) {
        (Some(share), _) if row.unit != "share" && share <= MOST_PERCENT => percent(share),
        (_, Some(change)) => absolute(row.unit, change),
        _ => String::new(),
    }
}
