//! Training steps: duration, traffic, trouble.

use super::Settings;
use super::attribute;
use super::catalog;
use super::metric::Metric;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use crate::analysis::iteration::figures::Figures;
use crate::analysis::judged::JudgedIteration;
use crate::analysis::understanding::Understanding;

/// Adds a new training step.
pub(super) fn add(
    series: &mut SeriesTable,
    settings: &Settings,
    understanding: &Understanding,
    judged: &JudgedIteration,
) {
    let JudgedIteration { iteration, figures, straggler, .. } = judged;
    let no_attributes = Attributes::default;
    if iteration.is_whole {
        series.record(&catalog::TRAINING_STEP_DURATION, no_attributes(), iteration.length_ns());
    }
    let amounts = [
        (&catalog::TRAINING_STEP_INCOMPLETE, u64::from(!iteration.is_whole)),
        (&catalog::TRAINING_STEP_COMMUNICATION_TIME, iteration.communication_ns),
        (&catalog::TRAINING_STEP_IDLE_TIME, iteration.idle_ns()),
        (&catalog::TRAINING_STEP_COLLECTIVES, iteration.collectives.len() as u64),
    ];
    amounts.into_iter().for_each(|(metric, amount)| series.add(metric, no_attributes(), amount));
    add_figures(series, figures, iteration.is_whole);
    if let Some((late, _)) = straggler {
        let job = understanding.state.job.as_ref();
        let communicator = job.and_then(|job| job.name_of(iteration.communicator));
        let rank = Some(late.rank);
        let owner = owner_attributes(settings, communicator.as_deref(), rank, None, None);
        let cause = (attribute::CAUSE.name, late.cause.name().to_owned());
        let attributes = Attributes::new(owner.into_iter().chain([cause]));
        series.add(&catalog::TRAINING_STEP_STRAGGLERS, attributes, 1);
    }
}

/// Adds the known figures, and counts the unknown ones. Peaks and shares of an incomplete training
/// step would mislead.
pub(super) fn add_figures(series: &mut SeriesTable, figures: &Figures, is_whole: bool) {
    let sums: [(&'static Metric, &str, Option<u64>); 5] = [
        (&catalog::TRAINING_STEP_IO, "bytes", figures.bytes),
        (&catalog::TRAINING_STEP_CE_PACKETS, "ce_packets", figures.ce_packets),
        (&catalog::TRAINING_STEP_CNPS, "cnps", figures.cnps),
        (&catalog::TRAINING_STEP_PAUSED_TIME, "paused", figures.paused_ns),
        (&catalog::TRAINING_STEP_RETRANSMITS, "retransmits", figures.retransmitted_packets),
    ];
    let unknown = |figure: &str| Attributes::new([(attribute::FIGURE.name, figure.to_owned())]);
    for (metric, figure, sum) in sums {
        match sum {
            Some(sum) => series.add(metric, Attributes::default(), sum),
            None => series.add(&catalog::TRAINING_STEP_UNKNOWN, unknown(figure), 1),
        }
    }
    match figures.peak_bps {
        Some(bps) if is_whole => {
            series.record(&catalog::TRAINING_STEP_PEAK_RATE, Attributes::default(), bps / 8);
        }
        Some(_) => {}
        None => series.add(&catalog::TRAINING_STEP_UNKNOWN, unknown("peak_rate"), 1),
    }
    if let Some(share) = figures.ce_share().filter(|_| is_whole) {
        let billionths = (share * 1e9).round() as u64;
        series.record(&catalog::TRAINING_STEP_CE_SHARE, Attributes::default(), billionths);
    }
}
