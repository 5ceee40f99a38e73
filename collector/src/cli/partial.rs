//! `--partial`, and parts as input: captures are reduced where they lie, and judged together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use bytesize::ByteSize;

use super::VERSION;
use super::analysis::Analysis;
use super::input::CaptureSink;
use super::lanes::{self, Taps};
use super::notice::notice;
use super::progress::InputProgress;
use super::source::SourceArgs;
use crate::ingest::whole_file;
use crate::part::{self, Head, Missed, Part, Parts, is_part};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::time::Timestamp;

/// Reduces the captures to the part at `place`.
///
/// # Errors
///
/// When a capture cannot be opened, or the part cannot be written.
pub(super) fn write(place: &Path, sources: &SourceArgs) -> anyhow::Result<()> {
    check_place(place)?;
    ensure!(!sources.names(place), "{} is one of the captures: name another part", place.display());
    let input = sources.only_captures()?;
    let head = Head {
        version: VERSION.to_owned(),
        captures: sources.input().names_of_files(),
        origin: None,
        options: sources.options().collect(),
    };
    let progress = InputProgress::new();
    let (read, written) =
        lanes::reduce(input, progress, sources.threads(), &sources.pipeline(), (place, head))?;
    let [read, written] = [read, written].map(|bytes| ByteSize(bytes).display().si());
    notice(format!("{}: {written} of {read}", place.display()));
    Ok(())
}

/// Refuses to replace what is no part: `--partial *.pcap` without a name would replace the first capture.
fn check_place(place: &Path) -> anyhow::Result<()> {
    ensure!(place != Path::new("-"), "a part is a file: name one (--partial FILE)");
    let Ok(there) = fs::metadata(place) else { return Ok(()) };
    let start = || whole_file::read_start(place, 16).unwrap_or_default();
    ensure!(
        there.is_file() && (there.len() == 0 || is_part(&start())),
        "{} is there and is no part: name another file, or remove it (--partial FILE CAPTURE...)",
        place.display()
    );
    Ok(())
}

/// The options that a part was made with.
///
/// # Errors
///
/// When it cannot be read.
pub(super) fn options(file: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    Ok(Part::open(file, VERSION)?.head().options.clone())
}

/// Opens all parts, which must have been made with these options.
///
/// # Errors
///
/// When one cannot be read, or they do not fit each other.
pub(super) fn open(
    files: &[PathBuf],
    options: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<Parts> {
    let parts: Result<Vec<Part>, _> = files.iter().map(|file| Part::open(file, VERSION)).collect();
    let parts = Parts::new(parts?)?;
    let theirs = parts.head().map(|head| &head.options);
    for (name, value) in options {
        ensure!(
            theirs.and_then(|theirs| theirs.get(&name)) == Some(&value),
            "--{} {value} shapes what parts are made of: give it with --partial",
            part::flag(&name)
        );
    }
    Ok(parts)
}

/// Reads all parts to their ends; returns the time of the first frame.
///
/// # Errors
///
/// When one is damaged.
pub(super) fn read(mut parts: Parts, analysis: &mut Analysis) -> anyhow::Result<Option<Timestamp>> {
    let mut taps = Taps::new(analysis, parts.captures());
    while let Some((place, item)) = parts.next_item()? {
        taps.handle(analysis, place, item);
    }
    let origin = parts.origin();
    let (lanes, missed) = parts.finish()?;
    missed.iter().for_each(|one| add(one, analysis));
    taps.join(analysis, lanes.into_iter());
    Ok(origin)
}

fn add(missed: &Missed, analysis: &mut Analysis) {
    for (event, count) in [
        (HealthEvent::CaptureFileProblems, missed.problems),
        (HealthEvent::CaptureDroppedFrames, missed.dropped_frames),
        (HealthEvent::CaptureUntimedFrames, missed.untimed_frames),
        (HealthEvent::CaptureSkippedBlocks, missed.skipped_blocks),
        (HealthEvent::CaptureSkippedFrames, missed.skipped_frames),
    ] {
        analysis.missed(event, count);
    }
}
