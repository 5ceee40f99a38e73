//! The ring: a header, a table of communicators, and lanes of records that overwrite their oldest.
//!
//! A thread writes into any lane that is free at once; the reader is another thread or process. A
//! lane's `reserved` is raised before words are overwritten and its `head` after they are written,
//! so a reader knows which of the words that it copied are whole. No record crosses a page, so a
//! reader that was overtaken goes on at the next page.

mod header;
mod lane;
mod sys;

pub(crate) use header::{Entry, Header, Lease, fixed};
pub(crate) use lane::{LANES, Tail, push};

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::host::{self, Mapping};

/// A ring of this process.
#[derive(Debug)]
pub(crate) struct Ring {
    mapping: Mapping,
    /// The file that others map, and its path.
    file: Option<(File, PathBuf)>,
    /// Words of a lane.
    lane: usize,
}

/// The ring, for those that may wait for each other: never on the path of an event.
static RING: Mutex<Option<Ring>> = Mutex::new(None);

/// The ring of this process. Whoever writes records does not ask here.
pub(crate) fn lock() -> MutexGuard<'static, Option<Ring>> {
    RING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins the ring in a folder, or in memory of its own if there is none, or none can be had there.
/// Returns where it is.
pub(crate) fn open(folder: Option<&Path>, lane: usize) -> io::Result<Option<PathBuf>> {
    let bytes = header::LANES_AT * 8 + LANES * lane;
    let shared = folder.and_then(|folder| create(folder, bytes).ok());
    let mapping = match &shared {
        Some((file, _)) => Mapping::new(Some(file), bytes),
        None => Mapping::new(None, bytes),
    };
    let mapping = match mapping {
        Ok(mapping) => mapping,
        Err(error) => {
            if let Some((_, path)) = &shared {
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
    };
    let path = shared.as_ref().map(|(_, path)| path.clone());
    let ring = Ring { mapping, file: shared, lane: lane / 8 };
    ring.header().begin(ring.lane);
    let mut place = lock();
    lane::attach(ring.mapping.words(), ring.lane);
    *place = Some(ring);
    Ok(path)
}

/// Ends the ring: nobody writes into it any more, and its file is gone.
pub(crate) fn close() {
    let mut place = lock();
    // Waits for those that are writing a record at this moment.
    lane::detach();
    if let Some(Ring { mapping, file, .. }) = place.take() {
        // A file that is gone and still mapped would look to the agent like a process without a ring.
        drop(mapping);
        if let Some((_, path)) = file {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Ring {
    pub(crate) fn header(&self) -> Header<'_> {
        Header::new(self.mapping.words())
    }

    /// Gives `take` what a lane holds since `tail`, page by page.
    pub(crate) fn drain(&self, lane: usize, tail: &mut Tail, take: &mut dyn FnMut(&[u64])) {
        lane::drain(self.mapping.words(), self.lane, lane, tail, take);
    }
}

/// Begins of names of rings.
const PREFIX: &str = "railscope-profiler.";

/// Creates the file of a ring, named by the process, with its memory reserved.
fn create(folder: &Path, bytes: usize) -> io::Result<(File, PathBuf)> {
    sweep(folder);
    let path = folder.join(format!("{PREFIX}{}", std::process::id()));
    let create =
        || OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
    let file = match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_left_behind(&path) => {
            std::fs::remove_file(&path)?;
            create()?
        }
        result => result?,
    };
    host::hold(&file);
    if let Err(error) = host::reserve(&file, bytes) {
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok((file, path))
}

/// A ring may be a moment old and not yet marked as in use.
const NEW: Duration = Duration::from_secs(10);

/// Removes rings of this user whose processes were killed.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.take(4096).flatten() {
        let is_ring = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_old = || {
            let changed = entry.metadata().and_then(|data| data.modified());
            changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age > NEW))
        };
        if is_ring && is_old() && is_left_behind(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Whether a file is this user's own, and no process holds it.
fn is_left_behind(path: &Path) -> bool {
    let open = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
    let Ok(file) = open else { return false };
    let is_own = || {
        let own = std::fs::metadata("/proc/self").map(|own| own.uid());
        own.is_ok_and(|own| file.metadata().is_ok_and(|data| data.is_file() && data.uid() == own))
    };
    is_own() && !host::is_held(&file)
}
