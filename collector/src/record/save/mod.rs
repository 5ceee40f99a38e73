//! A save: segments of the ring become one capture, with comments where something happened.
//!
//! The segments are read twice. The first time they are analysed; the second time each frame is written with
//! what is known of it. The bootstraps of jobs come first, however long ago they were: without them the
//! file would not show which rank is where.

mod comments;
mod names;
mod replay;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use self::comments::Comments;
use self::replay::{Replay, Replayed};
use super::private;
use super::writer::Segments;
use crate::export::pcapng::{PcapNgWriter, Section, Statistics};
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::{Span, Timestamp};
use railscope_core::pipeline::{MESSAGE_CAPACITY, Pipeline, PipelineConfig};
use railscope_core::report::words::number::counted;
use railscope_core::report::{Detail, Report, ReportContext};

/// Flows tracked at once.
const FLOW_CAPACITY: usize = 65_536;

/// Verdicts named in the file's own comment.
const VERDICTS_LISTED: usize = 8;

/// Level of compression of a saved file.
const LEVEL: i32 = 3;

/// What to save.
#[derive(Clone, Debug)]
pub struct SaveOrder {
    /// The file to write; `.zst` at its end compresses it.
    pub path: PathBuf,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// When it was asked for.
    pub trigger: Timestamp,
    /// Facts on the capturing host, for the file's head.
    pub section: Section,
    /// The taps, as the file describes them.
    pub taps: Vec<Tap>,
}

/// A saved file.
#[derive(Clone, Debug)]
pub struct Saved {
    /// The file.
    pub path: PathBuf,
    /// Why, in words.
    pub reasons: Vec<String>,
    /// Its frames, with those of bootstraps.
    pub frames: u64,
    /// Its size.
    pub bytes: u64,
    /// Nanoseconds that it looks back from the trigger.
    pub before_ns: u64,
    /// Nanoseconds after the trigger.
    pub after_ns: u64,
    /// Frames with comments.
    pub commented: u64,
}

/// Writes a file, completely or not at all.
pub(super) fn save(segments: &Segments, order: &SaveOrder) -> anyhow::Result<Saved> {
    let mut part = order.path.clone().into_os_string();
    part.push(".part");
    let part = PathBuf::from(part);
    let result = write(segments, order, &part).and_then(|saved| {
        let task = || format!("write {}", order.path.display());
        fs::rename(&part, &order.path).with_context(task)?;
        Ok(saved)
    });
    if result.is_err() {
        // It may not even exist.
        _ = fs::remove_file(&part);
    }
    result
}

fn write(segments: &Segments, order: &SaveOrder, part: &Path) -> anyhow::Result<Saved> {
    let replay = Replay::new(segments);
    let (report, taps) = analyse(&replay)?;
    let comments = Comments::new(&report, config(), &taps);
    let out = Out::create(part, &order.path);
    let task = || format!("write {}", order.path.display());
    let out = out.with_context(task)?;
    let mut section = order.section.clone();
    section.comments.extend(order.reasons.iter().map(|reason| format!("saved because: {reason}")));
    let problems = report.verdicts.iter().filter(|verdict| verdict.is_problem());
    let problems = problems.take(VERDICTS_LISTED);
    section.comments.extend(problems.map(|one| format!("{}: {}", one.severity, one.title)));
    let writer = PcapNgWriter::with_section(out, &section).with_context(task)?;
    let counts = vec![Counts::default(); order.taps.len()];
    let mut saving = Saving { writer, comments, counts, span: None, commented: 0, frames: 0 };
    order.taps.iter().try_for_each(|tap| saving.writer.tap(tap)).with_context(task)?;
    let names = names::of(&report);
    if !names.is_empty() {
        saving.writer.host_names(&names).with_context(task)?;
    }
    replay.read(&mut |replayed| saving.take(replayed).with_context(task))?;
    saving.end(segments.quiet_until).with_context(task)?;
    let Saving { writer, span, commented, frames, .. } = saving;
    writer.finish().and_then(Out::finish).with_context(task)?;
    let bytes = fs::metadata(part).with_context(task)?.len();
    let Some(span) = span else { bail!("no frame was in the ring") };
    let trigger = order.trigger;
    let before_ns = trigger.nanos_since(span.first.min(trigger));
    let after_ns = span.last.max(trigger).nanos_since(trigger);
    let (path, reasons) = (order.path.clone(), order.reasons.clone());
    Ok(Saved { path, reasons, frames, bytes, before_ns, after_ns, commented })
}

/// The usual limits, with details.
fn config() -> FlowConfig {
    FlowConfig { flow_capacity: FLOW_CAPACITY, line_rate_bps: None, keeps_details: true }
}

/// What the segments show, and their taps.
fn analyse(replay: &Replay<'_>) -> anyhow::Result<(Report, Vec<Tap>)> {
    let message_capacity = Some(MESSAGE_CAPACITY as usize);
    let mut pipeline = Pipeline::new(PipelineConfig { flow: config(), message_capacity });
    let (mut taps, mut origin) = (Vec::new(), None);
    replay.read(&mut |replayed| {
        match replayed {
            Replayed::Tap(tap) => {
                taps.push(tap.clone());
                pipeline.add_tap(tap);
            }
            Replayed::Frame(frame, _) => {
                origin.get_or_insert(frame.time);
                pipeline.handle_frame(&frame);
                pipeline.drain_messages();
            }
            Replayed::Lost(tap, frames) => pipeline.add_lost_frames(tap, frames),
        }
        Ok(())
    })?;
    for tap in 0..taps.len() as u32 {
        pipeline.observe_until(TapId(tap), replay.quiet_until());
    }
    let context = ReportContext { origin, detail: Detail::Full, ..ReportContext::default() };
    Ok((pipeline.analyse(&context).report, taps))
}

/// The file that is being written.
struct Saving {
    writer: PcapNgWriter<Out>,
    comments: Comments,
    counts: Vec<Counts>,
    /// Of the frames from the ring.
    span: Option<Span>,
    commented: u64,
    frames: u64,
}

/// Frames of a tap.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    written: u64,
    lost: u64,
}

impl Saving {
    fn take(&mut self, replayed: Replayed<'_>) -> io::Result<()> {
        match replayed {
            // The file began with them.
            Replayed::Tap(_) => Ok(()),
            Replayed::Lost(tap, frames) => {
                if let Some(counts) = self.counts.get_mut(tap.0 as usize) {
                    counts.lost += frames;
                }
                self.comments.add_lost(tap);
                Ok(())
            }
            Replayed::Frame(frame, is_recent) => {
                if let Some(counts) = self.counts.get_mut(frame.tap.0 as usize) {
                    counts.written += 1;
                }
                self.frames += 1;
                if is_recent {
                    let first = self.span.map_or(frame.time, |span| span.first.min(frame.time));
                    let last = self.span.map_or(frame.time, |span| span.last.max(frame.time));
                    self.span = Some(Span { first, last });
                }
                let comments = self.comments.of(&frame);
                self.commented += u64::from(!comments.is_empty());
                self.writer.commented_frame(&frame, &comments)
            }
        }
    }

    /// Writes what was lost, and how long the recording went on.
    fn end(&mut self, quiet_until: Timestamp) -> io::Result<()> {
        if let Some(span) = &mut self.span {
            span.last = span.last.max(quiet_until);
        }
        let time = self.span.map_or(Timestamp::EPOCH, |span| span.last);
        for (tap, Counts { written, lost }) in (0..).map(TapId).zip(self.counts.clone()) {
            let received = Some(written + lost);
            let counted =
                Statistics { time, span: self.span, received, lost, written: Some(written) };
            self.writer.statistics(tap, &counted)?;
        }
        Ok(())
    }
}

/// A saved file, compressed or not.
enum Out {
    Plain(BufWriter<File>),
    Compressed(Box<zstd::Encoder<'static, BufWriter<File>>>),
}

impl Out {
    /// Creates the file at `part`, which becomes `path`.
    fn create(part: &Path, path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, private::create(part)?);
        if path.extension().is_some_and(|end| end == "zst") {
            return Ok(Self::Compressed(Box::new(zstd::Encoder::new(file, LEVEL)?)));
        }
        Ok(Self::Plain(file))
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Compressed(out) => out.finish()?.flush(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Compressed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Compressed(out) => out.flush(),
        }
    }
}

impl Saved {
    /// One line on it.
    #[must_use]
    pub fn line(&self) -> String {
        let seconds = |ns: u64| format!("{:.1} s", ns as f64 / 1e9);
        format!(
            "saved {}: {}, {} before and {} after the trigger: {}",
            self.path.display(),
            counted(self.frames, "frame"),
            seconds(self.before_ns),
            seconds(self.after_ns),
            self.reasons.join("; ")
        )
    }
}
