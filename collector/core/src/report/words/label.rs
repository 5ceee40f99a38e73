//! Sentences about sources of training step labels.

use crate::analysis::iteration::label::LabelNote;

/// The note in words; "it" is the source.
#[must_use]
pub const fn note(note: LabelNote) -> &'static str {
    match note {
        LabelNote::Contradicts => "it contradicts an earlier source, which is used",
        LabelNote::NothingAtAnchor => "no training step runs at that time",
        LabelNote::SeveralAtAnchor => "training steps of several jobs run at that time",
        LabelNote::NoTrainingSteps => "the capture has no training steps",
        LabelNote::SeveralJobs => {
            "the capture has several jobs, and the log does not say which is its own"
        }
        LabelNote::NoNumbers => "none of its lines names a training step",
        LabelNote::OnlyZone => "no other time zone fits the capture",
        LabelNote::AssumedUtc => {
            "its timestamps are assumed to be UTC (other zones: --train-log-zone)"
        }
        LabelNote::OutsideCapture => "none of its timestamps is within the capture",
        LabelNote::SeveralZones => {
            "its timestamps fit several time zones: set one with --train-log-zone"
        }
        LabelNote::Coarse => "its timestamps are too coarse: each line fits several training steps",
        LabelNote::Drift => {
            "its step numbers and the capture's drift apart: one of the two counts other steps"
        }
        LabelNote::NoTimesOrLengths => "its lines have neither timestamps nor step durations",
        LabelNote::LengthsUnclear => {
            "its lines have no timestamps, and their step durations fit several places or none"
        }
    }
}
