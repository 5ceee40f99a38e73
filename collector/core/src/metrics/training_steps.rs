//! Training steps: how long they took, what they moved and suffered.

use super::Settings;
use super::attribute;
use super::catalog;
use super::metric::Metric;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use crate::report::iterations::IterationReport;

/// Adds a training step that was not told before.
pub(super) fn add(series: &mut SeriesTable, settings: &Settings, one: &IterationReport) {
    let nowhere = Attributes::default;
    if one.complete {
        let duration_ns = one.end_ns.saturating_sub(one.start_ns).max(0).unsigned_abs();
        series.record(&catalog::TRAINING_STEP_DURATION, nowhere(), duration_ns);
    }
    let incomplete = u64::from(!one.complete);
    series.add(&catalog::TRAINING_STEP_INCOMPLETE, nowhere(), incomplete);
    let times = [
        (&catalog::TRAINING_STEP_COMMUNICATION_TIME, one.communication_ns),
        (&catalog::TRAINING_STEP_IDLE_TIME, one.idle_ns),
        (&catalog::TRAINING_STEP_COLLECTIVES, one.collectives),
    ];
    times.into_iter().for_each(|(metric, amount)| series.add(metric, nowhere(), amount));
    add_figures(series, one);
    if let Some(late) = &one.straggler {
        let rank = Some(late.rank);
        let owner = owner_attributes(settings, one.communicator.as_deref(), rank, None, None);
        let cause = (attribute::CAUSE.name, late.cause.to_owned());
        let attributes = Attributes::new(owner.into_iter().chain([cause]));
        series.add(&catalog::TRAINING_STEP_STRAGGLERS, attributes, 1);
    }
}

/// Adds what is known of it, and counts what is not.
fn add_figures(series: &mut SeriesTable, one: &IterationReport) {
    let sums: [(&'static Metric, &str, Option<u64>); 5] = [
        (&catalog::TRAINING_STEP_IO, "bytes", one.bytes),
        (&catalog::TRAINING_STEP_CE_PACKETS, "ce_packets", one.ce_packets),
        (&catalog::TRAINING_STEP_CNPS, "cnps", one.cnps),
        (&catalog::TRAINING_STEP_PAUSED_TIME, "paused", one.paused_ns),
        (&catalog::TRAINING_STEP_RETRANSMITS, "retransmits", one.retransmitted_packets),
    ];
    let peak = one.peak_bps.map(|rate| rate / 8);
    let unknown = |figure: &str| Attributes::new([(attribute::FIGURE.name, figure.to_owned())]);
    for (metric, figure, sum) in sums {
        match sum {
            Some(sum) => series.add(metric, Attributes::default(), sum),
            None => series.add(&catalog::TRAINING_STEP_UNKNOWN, unknown(figure), 1),
        }
    }
    match peak {
        Some(rate) if one.complete => {
            series.record(&catalog::TRAINING_STEP_PEAK_RATE, Attributes::default(), rate);
        }
        Some(_) => {}
        None => series.add(&catalog::TRAINING_STEP_UNKNOWN, unknown("peak_rate"), 1),
    }
    if let Some(share) = one.ce_share.filter(|_| one.complete) {
        let billionths = (share * 1e9).round() as u64;
        series.record(&catalog::TRAINING_STEP_CE_SHARE, Attributes::default(), billionths);
    }
}
