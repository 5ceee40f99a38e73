//! What the job says about itself to OpenTelemetry, as any instrumented application does: training
//! steps, compute phases and collectives as spans, and a few metrics, by the official SDK.
//!
//! ```text
//! truth records -> Rounds -> Round (complete) -+-> spans   -+-> SDK (bounded queue) -> HTTP | gRPC
//!                                              +-> metrics -+
//! ```
//!
//! A collective's spans have the trace id of `docs/opentelemetry.md`, so they are in the trace that
//! railscope makes of the packets. `CallIds` follows that page and shares no code
//! with the exporter of railscope: an error in either shows as two traces instead of one.

mod client;
mod delivery;
mod exporter;
mod ids;
mod metrics;
mod round;
mod settings;
mod spans;

pub use delivery::Delivery;
pub use settings::Settings;

use std::time::Duration;

use self::exporter::Exporter;
use self::metrics::Metrics;
use self::round::Rounds;
use self::spans::Tracer;
use crate::clock::Deadline;
use crate::job::Job;
use crate::truth::Record;
use crate::{DriveError, Result};

/// Reports a job's records. Nothing here waits for the receiver, except [`finish`](Self::finish).
#[derive(Debug)]
pub struct Telemetry<'a> {
    rounds: Rounds<'a>,
    tracer: Option<Tracer>,
    metrics: Option<Metrics>,
    exporter: Exporter,
}

impl<'a> Telemetry<'a> {
    /// Starts the SDK. The receiver may be absent.
    ///
    /// # Errors
    /// A setting or an `OTEL_*` variable is not valid, or a thread cannot start.
    pub fn start(settings: &Settings, job: &'a Job) -> Result<Self> {
        let exporter = Exporter::start(settings)
            .map_err(|error| DriveError::Unusable(format!("report to OpenTelemetry: {error}")))?;
        let tracer = exporter.tracer().map(Tracer::new);
        let metrics = exporter.meter().as_ref().map(Metrics::new);
        Ok(Self { rounds: Rounds::new(job), tracer, metrics, exporter })
    }

    /// Takes a record; a round of which it is the last becomes spans.
    pub fn observe(&mut self, record: &Record) {
        let Some(round) = self.rounds.observe(record) else { return };
        self.report(&round);
    }

    /// Reports incomplete rounds, sends the rest for at most `within`, and says what was delivered.
    #[must_use]
    pub fn finish(mut self, within: Duration) -> Delivery {
        let deadline = Deadline::after(within);
        for round in self.rounds.rest() {
            self.report(&round);
        }
        let ended = self.tracer.as_ref().map_or(0, Tracer::ended);
        self.exporter.finish(ended, &deadline)
    }

    fn report(&mut self, round: &round::Round) {
        if let Some(tracer) = &mut self.tracer {
            tracer.report(round);
        }
        if let Some(metrics) = &self.metrics {
            metrics.report(round);
        }
    }
}
