//! Capture files in, events out: every event is one line of text.

mod apart;
mod compressed;
mod cut;
mod hostile;
mod merge;
mod pcap;
mod pcapng;
#[cfg(all(target_os = "linux", feature = "drive"))]
pub mod ras;
mod refused;
mod wireshark;

use std::io::{Cursor, Read};
use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::{FileSummary, SourceEvent};
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::Tap;

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

/// A source that yields one byte per read, like the slowest pipe.
pub(crate) struct Drip(pub(crate) Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let first = into.len().min(1);
        self.0.read(&mut into[..first])
    }
}

/// The events of a set of files, one line each.
pub(crate) fn events_of(mut captures: CaptureSet) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = captures.next_event() {
        lines.push(line(&event));
    }
    lines
}

/// The events of one file named `f`. An error on opening is a line too.
pub(crate) fn events_of_bytes(bytes: &[u8]) -> Vec<String> {
    match CaptureSet::from_reader("f", Cursor::new(bytes.to_vec())) {
        Ok(captures) => events_of(captures),
        Err(error) => vec![error.to_string()],
    }
}

/// Compares events with expected lines. The size of reads must not matter.
#[track_caller]
pub(crate) fn check(bytes: &[u8], expected: &[&str]) {
    assert_eq!(events_of_bytes(bytes), expected);
    if let Ok(dripping) = CaptureSet::from_reader("f", Drip(Cursor::new(bytes.to_vec()))) {
        assert_eq!(events_of(dripping), expected);
    }
}

fn line(event: &SourceEvent<'_>) -> String {
    match event {
        SourceEvent::Frame(frame) => frame_line(frame),
        SourceEvent::Tap(id, tap) => tap_line(id.0, tap),
        SourceEvent::HostName(name) => format!("name {} {}", name.address, name.name),
        SourceEvent::Lost { tap, frames } => format!("lost {frames} at {}", tap.0),
        SourceEvent::ObservedUntil { tap, time } => format!("observed {} until {time}", tap.0),
        SourceEvent::Problem(problem) => problem.to_string(),
        SourceEvent::FileEnd(summary) => end_line(summary),
    }
}

fn frame_line(frame: &Frame<'_>) -> String {
    let Frame { tap, number, time, wire_len, bytes, link_type, direction } = frame;
    let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let direction = direction.map_or(String::new(), |direction| format!(" {direction:?}"));
    format!("frame {number} at {} {time} {link_type:?} {bytes}/{wire_len}{direction}", tap.0)
}

fn tap_line(id: u32, tap: &Tap) -> String {
    let Tap { file, format, interface, link_type, snap_len, line_rate_bps } = tap;
    let interface = interface.as_deref().unwrap_or("-");
    let or_none = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let (snap, rate) = (or_none(snap_len.map(u64::from)), or_none(*line_rate_bps));
    format!("tap {id} {file} {format:?} {interface} {link_type:?} snap {snap} rate {rate}")
}

fn end_line(summary: &FileSummary) -> String {
    let FileSummary { file, frames, dropped_frames, untimed_frames, skipped_blocks, bytes } =
        summary;
    let mut line = format!("end {file}: {frames} frames, {bytes} bytes");
    for (count, what) in
        [(dropped_frames, "dropped"), (untimed_frames, "untimed"), (skipped_blocks, "skipped")]
    {
        if *count > 0 {
            line += &format!(", {count} {what}");
        }
    }
    line
}
