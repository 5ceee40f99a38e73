//! Rounds as metrics: what the driver's table counts, so without warm-up and checks.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};

use super::round::{Round, Times};
use super::spans;

/// Bounds of the histograms' buckets, in seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The instruments.
#[derive(Debug)]
pub(super) struct Metrics {
    iteration: Histogram<f64>,
    compute: Counter<f64>,
    collective: Histogram<f64>,
    io: Counter<u64>,
}

impl Metrics {
    pub(super) fn new(meter: &Meter) -> Self {
        let seconds = |name, about| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(about);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        Self {
            iteration: seconds(
                "drive.training_step.duration",
                "Duration of a rank's training steps: from the start of computing to the end of the last collective",
            ),
            compute: meter
                .f64_counter("drive.compute.time")
                .with_unit("s")
                .with_description("Time that a rank computed")
                .build(),
            collective: seconds(
                "drive.collective.duration",
                "Duration of a rank's collectives: from the call to the result",
            ),
            io: meter
                .u64_counter("drive.collective.io")
                .with_unit("By")
                .with_description("Bytes of a rank's collectives, counted as nccl-tests does")
                .build(),
        }
    }

    /// Counts a round.
    pub(super) fn report(&self, round: &Round) {
        if !round.is_measured {
            return;
        }
        let rank = KeyValue::new("nccl.rank", i64::from(round.rank));
        if let Some(compute) = round.compute {
            self.compute.add(seconds(compute), std::slice::from_ref(&rank));
            if let Some(last) = round.calls.last().filter(|_| round.is_training_step) {
                self.iteration
                    .record(seconds((compute.0, last.times.1)), std::slice::from_ref(&rank));
            }
        }
        for call in &round.calls {
            let kind = KeyValue::new("nccl.collective.kind", spans::kind(call.kind));
            let attributes = [rank.clone(), kind];
            self.collective.record(seconds(call.times), &attributes);
            self.io.add(call.bytes, &attributes);
        }
    }
}

fn seconds((start_ns, end_ns): Times) -> f64 {
    Duration::from_nanos(end_ns.saturating_sub(start_ns)).as_secs_f64()
}
