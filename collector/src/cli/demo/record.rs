//! The files that a demo leaves.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;

use crate::export::pcapng::PcapNgWriter;
use crate::export::{json, perfetto};
use crate::ingest::live::LiveEvent;
use crate::live::session::Session;
use crate::report::{Detail, Report};

pub(super) const CAPTURE: &str = "capture.pcapng";
pub(super) const REPORT: &str = "report.json";
pub(super) const TRACE: &str = "trace.json";

/// What was seen, complete.
pub(super) struct Recording {
    pub(super) report: Report,
}

/// The capture on its way; the first error ends it.
pub(super) struct CaptureFile {
    writer: PcapNgWriter<BufWriter<File>>,
    result: io::Result<()>,
}

impl CaptureFile {
    pub(super) fn create(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(CAPTURE);
        let begin = || PcapNgWriter::new(BufWriter::with_capacity(1 << 20, File::create(&path)?));
        let writer = begin().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { writer, result: Ok(()) })
    }

    pub(super) fn take(&mut self, event: &LiveEvent<'_>) {
        if self.result.is_err() {
            return;
        }
        self.result = match event {
            LiveEvent::Tap(tap) => self.writer.tap(tap),
            LiveEvent::Frame(frame) => self.writer.frame(frame),
            LiveEvent::Lost { tap, frames } => self.writer.lost(*tap, *frames),
            _ => Ok(()),
        };
    }

    fn finish(mut self) -> io::Result<()> {
        self.result?;
        self.writer.flush()
    }
}

/// Writes everything that is left to be written.
pub(super) fn finish(
    session: &Session,
    capture: CaptureFile,
    folder: &Path,
) -> anyhow::Result<Recording> {
    capture.finish().with_context(|| format!("write {CAPTURE}"))?;
    // A timeline is made of single messages and signals.
    let full = session.pipeline().report(session.context(Detail::Full));
    write(&folder.join(TRACE), |out| perfetto::write(&full, out))?;
    let report = session.pipeline().report(session.context(Detail::Summary));
    write(&folder.join(REPORT), |out| json::write(&report, out))?;
    Ok(Recording { report })
}

fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        content(&mut out)?;
        out.flush()
    };
    write().with_context(|| format!("write {}", path.display()))
}
