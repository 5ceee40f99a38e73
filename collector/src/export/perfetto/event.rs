//! One event of a trace, and the clock of its time.

use serde::Serialize;
use serde_json::{Map, Value};

use railscope_core::model::time::Timestamp;

/// Kineto's quarter of a year.
const QUARTER_SECONDS: u64 = 7_889_238;

/// Arguments that a viewer shows with an event.
pub(super) type Arguments = Map<String, Value>;

/// Events of one track in order of time.
pub(super) type Track = Vec<Event>;

/// The row of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TrackId {
    pub(super) process: u32,
    pub(super) thread: u32,
}

/// Type of an event, by the letters of the format.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// A slice.
    Complete { duration_ns: u64 },
    /// An instant of a thread.
    Instant,
    /// The start of something that may overlap others of its name.
    AsyncBegin { id: u64 },
    /// End of the asynchronous event `id`.
    AsyncEnd { id: u64 },
    /// A new value of a counter.
    Counter,
    /// A name or sort order of processes and threads.
    Metadata,
}

/// An event; times are after the capture's origin.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) category: &'static str,
    pub(super) phase: Phase,
    pub(super) time_ns: i64,
    pub(super) place: TrackId,
    pub(super) arguments: Arguments,
}

/// An event as the format has it.
#[derive(Serialize)]
pub(super) struct TraceEvent<'a> {
    ph: &'static str,
    cat: &'static str,
    name: &'a str,
    pid: u32,
    tid: u32,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    args: &'a Arguments,
}

/// Nanoseconds after the capture's origin to microseconds after Kineto's base.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// The clock of a capture that starts at `origin`.
    pub(super) fn new(origin: Timestamp) -> Self {
        Self { origin_ns: origin.as_nanos() }
    }

    /// The base in nanoseconds since the Unix epoch.
    pub(super) fn base_ns(self) -> u64 {
        let quarter_ns = QUARTER_SECONDS * 1_000_000_000;
        self.origin_ns - self.origin_ns % quarter_ns
    }

    fn microseconds(self, time_ns: i64) -> f64 {
        let after_base = self.origin_ns - self.base_ns();
        // Up to 2^53 ns, or 104 days, a double keeps every nanosecond.
        after_base.saturating_add_signed(time_ns) as f64 / 1000.0
    }
}

impl Event {
    /// As the format has it.
    pub(super) fn at(&self, clock: Clock) -> impl Serialize + '_ {
        let (ph, dur, id, s) = match self.phase {
            Phase::Complete { duration_ns } => ("X", Some(duration_ns as f64 / 1000.0), None, None),
            Phase::Instant => ("i", None, None, Some("t")),
            Phase::AsyncBegin { id } => ("b", None, Some(id), None),
            Phase::AsyncEnd { id } => ("e", None, Some(id), None),
            Phase::Counter => ("C", None, None, None),
            Phase::Metadata => ("M", None, None, None),
        };
        TraceEvent {
            ph,
            cat: self.category,
            name: &self.name,
            pid: self.place.process,
            tid: self.place.thread,
            ts: clock.microseconds(self.time_ns),
            dur,
            id: id.map(|id| format!("{id:#x}")),
            s,
            args: &self.arguments,
        }
    }
}

/// Adds arguments; `null` values are omitted.
pub(super) fn arguments<const N: usize>(values: [(&str, Value); N]) -> Arguments {
    let known = values.into_iter().filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_nanoseconds() {
        let clock = Clock::new(Timestamp::from_nanos(1_763_670_000_123_456_789));
        assert_eq!(clock.base_ns() % (QUARTER_SECONDS * 1_000_000_000), 0);
        let whole =
            i128::from(clock.base_ns()) + (clock.microseconds(211) * 1000.0).round() as i128;
        assert_eq!(whole, 1_763_670_000_123_457_000);
        let text = serde_json::to_string(&clock.microseconds(0)).unwrap_or_default();
        assert!(text.ends_with(".789"), "{text}");
    }
}
