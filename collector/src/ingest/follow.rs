//! Reads a capture file while it grows, from its start, or standard input.
//!
//! A thread reads, because the readers of capture files block until a record is complete. Its frames lie in
//! a `Batch` until the source is polled.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::file::CaptureSet;
use super::file::error::IngestError;
use super::file::event::{FileSummary, SourceEvent};
use super::live::{LiveEvent, LiveSource};
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// Time between two looks at a file that has not grown.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Bytes that are read ahead of the polls.
const BATCH_BYTES: usize = 8 << 20;

/// A growing file.
#[derive(Debug)]
pub struct Follow {
    name: String,
    shared: Arc<Shared>,
    is_over: bool,
}

/// State that the reading thread and the source share.
#[derive(Debug, Default)]
struct Shared {
    batch: Mutex<Batch>,
    changed: Condvar,
    is_dropped: AtomicBool,
}

/// Frames and events read but not delivered yet.
#[derive(Debug, Default)]
struct Batch {
    /// The bytes of all frames.
    bytes: Vec<u8>,
    items: Vec<Item>,
    /// Why the file cannot be read.
    error: Option<IngestError>,
    is_end: bool,
}

#[derive(Debug)]
enum Item {
    /// A frame, and its number of bytes.
    Frame(FrameHead, usize),
    Other(LiveEvent<'static>),
}

/// A frame without its bytes.
#[derive(Clone, Copy, Debug)]
struct FrameHead {
    tap: TapId,
    number: u64,
    time: Timestamp,
    wire_len: u32,
    link_type: LinkType,
    direction: Option<Direction>,
}

impl Follow {
    /// Starts to read the file at `path`; `-` is standard input, which is read to its end.
    ///
    /// # Errors
    ///
    /// It cannot be opened. Whether it is a capture shows when it has its first bytes.
    pub fn open(path: &Path) -> io::Result<Self> {
        let name = path.display().to_string();
        let shared = Arc::new(Shared::default());
        let source: Box<dyn Read + Send> = if name == "-" {
            Box::new(io::stdin())
        } else {
            let file = File::open(path)?;
            match file.metadata()?.is_file() {
                true => Box::new(Growing { file, bytes_read: 0, shared: shared.clone() }),
                false => Box::new(file),
            }
        };
        let (of, to) = (name.clone(), shared.clone());
        thread::Builder::new().name("follow".to_owned()).spawn(move || to.read(of, source))?;
        Ok(Self { name, shared, is_over: false })
    }
}

impl LiveSource for Follow {
    fn poll(&mut self, patience: Duration, sink: &mut dyn FnMut(LiveEvent<'_>)) -> io::Result<()> {
        let is_waiting = |batch: &mut Batch| batch.items.is_empty() && !batch.is_end;
        let batch = self.shared.lock();
        let waited = self.shared.changed.wait_timeout_while(batch, patience, is_waiting);
        let (mut batch, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut *batch);
        self.shared.changed.notify_all();
        self.is_over |= batch.is_end;
        let mut rest = batch.bytes.as_slice();
        for item in batch.items {
            match item {
                Item::Other(event) => sink(event),
                Item::Frame(head, len) => {
                    let (bytes, behind) = rest.split_at_checked(len).unwrap_or_default();
                    rest = behind;
                    sink(LiveEvent::Frame(head.with(bytes)));
                }
            }
        }
        batch.error.map_or(Ok(()), |error| Err(io::Error::other(error)))
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn completeness(&self) -> Vec<String> {
        vec![format!("following {}: frames already in the file, then new ones", self.name)]
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.shared.is_dropped.store(true, Ordering::Relaxed);
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_dropped(&self) -> bool {
        self.is_dropped.load(Ordering::Relaxed)
    }

    /// Reads to the end, or until the source is dropped.
    fn read(&self, name: String, source: Box<dyn Read + Send>) {
        match CaptureSet::from_reader(name, source) {
            Ok(mut captures) => {
                while let Some(event) = captures.next_event() {
                    self.push(event);
                    if self.is_dropped() {
                        return;
                    }
                }
            }
            Err(error) => self.lock().error = Some(error),
        }
        self.lock().is_end = true;
        self.changed.notify_all();
    }

    fn push(&self, event: SourceEvent<'_>) {
        let is_full = |batch: &mut Batch| batch.bytes.len() >= BATCH_BYTES && !self.is_dropped();
        let batch = self.changed.wait_while(self.lock(), is_full);
        let mut batch = batch.unwrap_or_else(PoisonError::into_inner);
        if let SourceEvent::FileEnd(summary) = &event {
            batch.items.extend(missed(summary).map(Item::Other));
            return;
        }
        let item = match event {
            SourceEvent::Frame(frame) => {
                batch.bytes.extend_from_slice(frame.bytes);
                Item::Frame(FrameHead::from_frame(&frame), frame.bytes.len())
            }
            SourceEvent::Tap(_, tap) => Item::Other(LiveEvent::Tap(tap)),
            SourceEvent::HostName(name) => Item::Other(LiveEvent::HostName(name)),
            SourceEvent::Lost { tap, frames } => Item::Other(LiveEvent::Lost { tap, frames }),
            SourceEvent::Problem(problem) => {
                let missed =
                    LiveEvent::Missed { event: HealthEvent::CaptureFileProblems, count: 1 };
                batch.items.push(Item::Other(missed));
                Item::Other(LiveEvent::Warning(problem.to_string()))
            }
            // A stream that is followed has ended with it.
            SourceEvent::ObservedUntil { .. } | SourceEvent::FileEnd(_) => return,
        };
        let is_first = batch.items.is_empty();
        batch.items.push(item);
        drop(batch);
        if is_first {
            self.changed.notify_all();
        }
    }
}

/// Parts of a file that did not become frames.
fn missed(summary: &FileSummary) -> impl Iterator<Item = LiveEvent<'static>> {
    let counts = [
        (HealthEvent::CaptureDroppedFrames, summary.dropped_frames),
        (HealthEvent::CaptureUntimedFrames, summary.untimed_frames),
        (HealthEvent::CaptureSkippedBlocks, summary.skipped_blocks),
    ];
    counts.into_iter().map(|(event, count)| LiveEvent::Missed { event, count })
}

impl FrameHead {
    fn from_frame(frame: &Frame<'_>) -> Self {
        let Frame { tap, number, time, wire_len, link_type, direction, .. } = *frame;
        Self { tap, number, time, wire_len, link_type, direction }
    }

    fn with(self, bytes: &[u8]) -> Frame<'_> {
        let Self { tap, number, time, wire_len, link_type, direction } = self;
        Frame { tap, number, time, wire_len, bytes, link_type, direction }
    }
}

/// A file that waits for more at its end.
struct Growing {
    file: File,
    bytes_read: u64,
    shared: Arc<Shared>,
}

impl Read for Growing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.file.read(into)?;
            self.bytes_read += count as u64;
            if count > 0 || into.is_empty() || self.shared.is_dropped() {
                return Ok(count);
            }
            if self.file.metadata()?.len() < self.bytes_read {
                return Err(io::Error::other(
                    "the file became shorter: it was overwritten; start again",
                ));
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}
