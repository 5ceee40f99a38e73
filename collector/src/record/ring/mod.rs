//! A ring on disk: a folder of segments, the oldest of which are removed.
//!
//! Each segment is a capture of its own, so that a crash leaves readable files. A capture locks its folder.

mod error;
mod segment;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use self::error::RingError;
pub(super) use self::segment::USUAL_LEVEL;
use self::segment::{Segment, Writing};

use super::tally::Tally;
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::{Span, Timestamp};

/// A ring has about so many segments: what is too old or too much is removed in such parts.
const PARTS: u32 = 16;

/// Time in a segment.
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(30);

/// Bytes of a segment on disk, at least and at most.
const SMALLEST: u64 = 64 << 10;
const LARGEST: u64 = 64 << 20;

const LOCK: &str = "lock";
const SUFFIX: &str = ".pcapng.zst";

/// The folder of a ring, locked.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The folder did not exist before.
    is_own: bool,
    /// Others may list it.
    is_listed: bool,
    /// Segments that an earlier capture left.
    removed: usize,
    _lock: File,
}

impl Folder {
    /// Creates and locks a folder. Segments that a killed capture left in it are removed.
    pub(super) fn open(path: &Path) -> Result<Self, RingError> {
        let refused = |source: io::Error| RingError::Folder { path: path.to_owned(), source };
        let is_own = !path.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let mode = fs::metadata(path).map_err(refused)?.permissions().mode();
        if mode & 0o022 != 0 {
            return Err(RingError::Open { path: path.to_owned(), mode: mode & 0o777 });
        }
        let is_listed = mode & 0o055 != 0;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(0o600);
        let lock = lock.open(path.join(LOCK)).map_err(refused)?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => RingError::InUse { path: path.to_owned() },
            fs::TryLockError::Error(source) => refused(source),
        })?;
        let mut removed = 0;
        for entry in fs::read_dir(path).map_err(refused)? {
            let entry = entry.map_err(refused)?;
            if is_segment(&entry.file_name().to_string_lossy()) {
                fs::remove_file(entry.path()).map_err(refused)?;
                removed += 1;
            }
        }
        Ok(Self { path: path.to_owned(), is_own, is_listed, removed, _lock: lock })
    }

    pub(super) fn removed(&self) -> usize {
        self.removed
    }

    /// Whether others may list its files, which they cannot read.
    pub(super) fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    /// Leaves no trace of an empty folder that it created.
    fn drop(&mut self) {
        // A file that cannot be removed is overwritten by the next capture.
        _ = fs::remove_file(self.path.join(LOCK));
        if self.is_own {
            _ = fs::remove_dir(&self.path);
        }
    }
}

fn is_segment(name: &str) -> bool {
    (name.starts_with(RECENT) || name.starts_with(CONTROL)) && name.ends_with(SUFFIX)
}

/// First part of the names of segments.
pub(super) const RECENT: &str = "recent-";
/// The same of those with the bootstraps of jobs, which are kept longer.
pub(super) const CONTROL: &str = "bootstrap-";

/// What a ring keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Older frames are removed; `None` keeps all that have room.
    pub(super) keep: Option<Duration>,
    /// Most bytes on disk.
    pub(super) bytes: u64,
}

/// Segments, oldest first, and the one that is being written.
#[derive(Debug)]
pub(super) struct Ring {
    folder: PathBuf,
    prefix: &'static str,
    limits: Limits,
    taps: Vec<Tap>,
    segments: VecDeque<Segment>,
    writing: Option<Writing>,
    /// Frames that were lost while there was none.
    lost_before: BTreeMap<TapId, u64>,
    /// Number of the next segment.
    next: u64,
    /// Bytes of the finished segments.
    bytes: u64,
    /// Starts of saves that are not written yet: nothing later than the first is too old.
    held: Vec<Timestamp>,
    /// Whether segments stay when it ends.
    is_kept: bool,
    tally: Arc<Tally>,
}

impl Ring {
    pub(super) fn new(
        folder: &Folder,
        prefix: &'static str,
        limits: Limits,
        taps: Vec<Tap>,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            folder: folder.path.clone(),
            prefix,
            limits,
            taps,
            segments: VecDeque::new(),
            writing: None,
            lost_before: BTreeMap::new(),
            next: 0,
            bytes: 0,
            held: Vec::new(),
            is_kept: false,
            tally,
        }
    }

    /// Leaves the segments on disk when it ends.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Adds blocks of frames.
    ///
    /// # Errors
    ///
    /// The segment cannot be written even after the oldest was removed to make room.
    pub(super) fn add(&mut self, blocks: &[u8], taps: &[TapId], span: Span) -> io::Result<()> {
        let result = self.try_add(blocks, taps, span);
        if result.is_err() && self.segments.pop_front().is_some_and(|oldest| self.remove(&oldest)) {
            self.tally.crowded_out.add(1);
            self.abandon();
            return self.try_add(blocks, taps, span);
        }
        result
    }

    fn try_add(&mut self, blocks: &[u8], taps: &[TapId], span: Span) -> io::Result<()> {
        let writing = match &mut self.writing {
            Some(writing) => writing,
            None => {
                let path = self.folder.join(format!("{}{:08}{SUFFIX}", self.prefix, self.next));
                self.next += 1;
                self.writing.insert(Writing::begin(path, &self.taps)?)
            }
        };
        for (tap, frames) in std::mem::take(&mut self.lost_before) {
            writing.add_lost(tap, frames);
        }
        writing.add(blocks, taps, span)
    }

    /// Counts frames that were lost before those that come next.
    pub(super) fn add_lost(&mut self, tap: TapId, frames: u64) {
        match &mut self.writing {
            Some(writing) => writing.add_lost(tap, frames),
            None => *self.lost_before.entry(tap).or_default() += frames,
        }
    }

    /// Sets how hard it tries to compress.
    pub(super) fn set_level(&mut self, level: i32) {
        if let Some(writing) = &mut self.writing {
            writing.set_level(level);
        }
    }

    /// Ends a segment that is long or large enough, and removes what is too old or too much.
    ///
    /// # Errors
    ///
    /// The segment cannot be written.
    pub(super) fn turn(&mut self, now: Timestamp) -> io::Result<()> {
        // Without an age to remove them at, there is no reason to have many.
        let longest = self.limits.keep.map(|keep| (keep / PARTS).clamp(SHORTEST, LONGEST));
        let largest = (self.limits.bytes / u64::from(PARTS)).clamp(SMALLEST, LARGEST);
        let is_old = |writing: &Writing| {
            longest.is_some_and(|longest| u128::from(writing.age_ns(now)) >= longest.as_nanos())
        };
        let is_done = self
            .writing
            .as_ref()
            .is_some_and(|writing| writing.bytes() >= largest || is_old(writing));
        let result = if is_done { self.rotate() } else { Ok(()) };
        self.evict(now);
        result
    }

    /// Ends the current segment.
    ///
    /// # Errors
    ///
    /// The segment cannot be written; what was written of it before stays.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        let Some(writing) = self.writing.take() else { return Ok(()) };
        let (segment, result) = writing.finish();
        self.bytes += segment.bytes;
        self.segments.push_back(segment);
        result.map_err(|(frames, error)| {
            self.tally.queue_lost.add(frames);
            error
        })
    }

    /// Ends the current segment, which could not be written.
    fn abandon(&mut self) {
        // The error was counted when it happened first.
        _ = self.rotate();
    }

    fn evict(&mut self, now: Timestamp) {
        let kept = self.limits.keep.map_or(u128::from(u64::MAX), |keep| keep.as_nanos());
        let kept = u64::try_from(kept).unwrap_or(u64::MAX);
        let mut begin = Timestamp::from_nanos(now.as_nanos().saturating_sub(kept));
        begin = self.held.iter().fold(begin, |begin, held| begin.min(*held));
        while let Some(oldest) = self.segments.front() {
            let is_old = oldest.span.last < begin;
            if !is_old && self.bytes_on_disk() <= self.limits.bytes {
                break;
            }
            let oldest = self.segments.pop_front();
            if !is_old {
                self.tally.crowded_out.add(1);
            }
            if !oldest.is_some_and(|oldest| self.remove(&oldest)) {
                break;
            }
        }
    }

    /// Whether there is one file less.
    fn remove(&mut self, segment: &Segment) -> bool {
        self.bytes = self.bytes.saturating_sub(segment.bytes);
        fs::remove_file(&segment.path).is_ok()
    }

    pub(super) fn bytes_on_disk(&self) -> u64 {
        self.bytes + self.writing.as_ref().map_or(0, Writing::bytes)
    }

    /// From its oldest frame to its newest.
    pub(super) fn span(&self) -> Option<Span> {
        let writing = self.writing.as_ref().and_then(Writing::span);
        let first = self.segments.front().map(|segment| segment.span.first);
        let last = self.segments.back().map(|segment| segment.span.last);
        Some(Span {
            first: first.or(writing.map(|span| span.first))?,
            last: writing.map(|span| span.last).or(last)?,
        })
    }

    /// Keeps frames since this time, however old, until they are released.
    pub(super) fn hold(&mut self, since: Timestamp) {
        self.held.push(since);
    }

    pub(super) fn release(&mut self, since: Timestamp) {
        if let Some(at) = self.held.iter().position(|held| *held == since) {
            self.held.swap_remove(at);
        }
    }

    /// The finished segments with frames of this time.
    pub(super) fn within(&self, span: Span) -> Vec<PathBuf> {
        let overlapping = self.segments.iter().filter(|segment| segment.span.overlaps(span));
        overlapping.map(|segment| segment.path.clone()).collect()
    }
}

impl Drop for Ring {
    /// A ring ends with its capture.
    fn drop(&mut self) {
        _ = self.rotate();
        if self.is_kept {
            return;
        }
        while let Some(segment) = self.segments.pop_front() {
            self.remove(&segment);
        }
    }
}
