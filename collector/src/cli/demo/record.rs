//! The files that a demo writes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};

use crate::export::pcapng::PcapNgWriter;
use crate::export::{html, json, perfetto};
use crate::ingest::af_packet::{AfPacket, AfPacketConfig, ROCE_BYTES, WHOLE};
use crate::ingest::live::{LiveEvent, LiveSource};
use crate::live::runner::Runner;
use railscope_core::pipeline::Analysed;
use railscope_core::report::{Detail, Report};

/// Room for frames of a port, MiB.
const RING_MEBIBYTES: usize = 16;

/// Longest wait for frames before checking whether to end.
const PATIENCE: Duration = Duration::from_millis(50);

pub(super) const CAPTURE: &str = "capture.pcapng";
pub(super) const PAGE: &str = "report.html";
pub(super) const REPORT: &str = "report.json";
pub(super) const TRACE: &str = "trace.json";

/// The analysis of the whole capture.
pub(super) struct Recording {
    pub(super) analysed: Analysed,
}

/// A thread that captures all packets, independently of the live analysis.
pub(super) struct Recorder {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Recorder {
    /// Starts to capture on ports of the calling thread's network namespace.
    pub(super) fn start(ports: &[String], folder: &Path) -> anyhow::Result<Self> {
        let source = AfPacket::open(&AfPacketConfig {
            interfaces: ports.to_vec(),
            namespace: None,
            promiscuous: false,
            roce_bytes: ROCE_BYTES,
            other_bytes: WHOLE,
            ring_mebibytes: RING_MEBIBYTES,
        })?;
        let path = folder.join(CAPTURE);
        let begin = || PcapNgWriter::new(BufWriter::with_capacity(1 << 20, File::create(&path)?));
        let writer = begin().with_context(|| format!("cannot write {}", path.display()))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let record =
            move || record(source, writer, &over).with_context(|| format!("write {CAPTURE}"));
        let thread = thread::Builder::new().name("capture".to_owned()).spawn(record);
        Ok(Self { is_over, thread: thread.context("start a thread")? })
    }

    /// Writes everything received so far and ends.
    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the capture ended unexpectedly"))?
    }
}

fn record(
    mut source: AfPacket,
    mut writer: PcapNgWriter<BufWriter<File>>,
    is_over: &AtomicBool,
) -> anyhow::Result<()> {
    loop {
        // Read first, so that frames that arrived before it was set are written.
        let is_last = is_over.load(Ordering::Relaxed);
        let mut result = Ok(());
        source.poll(PATIENCE, &mut |event| {
            if result.is_ok() {
                result = match event {
                    LiveEvent::Tap(tap) => writer.tap(&tap),
                    LiveEvent::Frame(frame) => writer.frame(&frame),
                    LiveEvent::Lost { tap, frames } => writer.lost(tap, frames),
                    _ => Ok(()),
                };
            }
        })?;
        result?;
        if is_last {
            return Ok(writer.flush()?);
        }
    }
}

/// Writes the reports on the whole capture.
pub(super) fn finish(runner: &Runner, folder: &Path) -> anyhow::Result<Recording> {
    let analysed = runner.analyse();
    // A timeline shows single messages and signals.
    let full = Report::new(&analysed.understanding, &runner.session().context(Detail::Full));
    write(&folder.join(TRACE), |out| perfetto::write(&full, out))?;
    write(&folder.join(PAGE), |out| html::write(&full, out))?;
    write(&folder.join(REPORT), |out| json::write(&analysed.report, out))?;
    Ok(Recording { analysed })
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
