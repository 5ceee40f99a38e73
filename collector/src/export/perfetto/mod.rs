//! A timeline for ui.perfetto.dev and chrome://tracing: Chrome's Trace Event Format in JSON.
//!
//! Times are those of PyTorch's Kineto, so that the events of both fit in one file:
//! microseconds with three decimals after `baseTimeNanoseconds`, which Kineto puts at the last
//! multiple of 7,889,238 s (a quarter of a year) of Unix time, so that times fit a double.

mod collectives;
mod counters;
mod event;
mod iterations;
mod lanes;
mod messages;
mod outstanding;
mod pauses;
mod phases;
mod ports;
mod processes;
mod rank_waits;
mod recoveries;
mod signals;
mod slices;
mod verdicts;
mod waits;

use std::io::{self, Write};

use self::event::Clock;
use self::processes::Processes;
use crate::printable::PrintableWriter;
use railscope_core::report::Report;

/// Writes `report`, which must have full detail, as one JSON object with one event per line.
///
/// # Errors
///
/// When writing fails.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    let clock = Clock::new(report.capture.origin_ns);
    let mut processes = Processes::default();
    let mut tracks = Vec::new();
    tracks.extend(verdicts::tracks(report, &mut processes));
    tracks.extend(phases::tracks(report, &mut processes));
    tracks.extend(iterations::tracks(report, &mut processes));
    tracks.extend(pauses::tracks(report, &mut processes));
    tracks.extend(collectives::tracks(report, &mut processes));
    let signals = signals::by_rank(report);
    tracks.extend(collectives::rank_tracks(report, signals, &mut processes));
    tracks.extend(rank_waits::tracks(report, &mut processes));
    tracks.extend(recoveries::tracks(report, &mut processes));
    tracks.extend(waits::tracks(report, &mut processes));
    tracks.extend(messages::tracks(report, &mut processes));
    tracks.extend(ports::tracks(report, &mut processes));
    tracks.extend(outstanding::tracks(report, &mut processes));
    tracks.extend(counters::tracks(report, &mut processes));
    write!(
        out,
        "{{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{},\n\
         \"traceEvents\":[",
        clock.base_ns()
    )?;
    let mut separator = "\n";
    let events = processes.names().into_iter().chain(tracks.into_iter().flatten());
    for event in events {
        out.write_all(separator.as_bytes())?;
        serde_json::to_writer(PrintableWriter::json(&mut out), &event.at(clock))?;
        separator = ",\n";
    }
    out.write_all(b"\n]}\n")
}
