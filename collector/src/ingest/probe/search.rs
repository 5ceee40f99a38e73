//! Which processes have mapped which libraries, from `/proc`.
//!
//! A library is identified by the mapped file, not by its path: processes may see different files under
//! one path, or have a deleted file mapped.
//!
//! Any user can start processes and map files. So a look takes bounded time, users take turns, and files
//! are opened where a thread may be abandoned.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::open::Mapped;
use crate::ingest::guarded::Guarded;
use crate::ingest::kernel_file;
use crate::ingest::process::mapped_pages::MappedPages;

/// Bytes of `/proc/PID/maps` that are read: PyTorch has about 5,000 lines.
const MAPS_LIMIT: u64 = 8 << 20;

/// Most libraries of one process.
const LIBRARY_LIMIT: usize = 32;

/// Most new libraries of one look.
const FOUND_LIMIT: usize = 64;

/// Time after which a look ends; what is left waits for the next one.
const LOOK_TIME: Duration = Duration::from_millis(200);

/// How long opening a file may take.
const OPEN_TIME: Duration = Duration::from_secs(1);

/// A process is inspected again after a quarter of the time since it was found, within these bounds:
/// libraries are loaded early, or on first use.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(30);

/// A file, by device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// A new library that a process has mapped.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: FileId,
    /// As the process sees it.
    pub(super) path: String,
    pub(super) file: File,
    /// Whose process it is.
    pub(super) user: u32,
}

/// Processes and their libraries.
#[derive(Debug)]
pub(super) struct Search {
    proc: PathBuf,
    processes: BTreeMap<u32, Known>,
    opener: Guarded,
    /// Processes that could not be inspected the last time.
    pub(super) refused: usize,
    /// Files that did not open in time, so far.
    pub(super) unanswered: u64,
}

/// An inspected process.
#[derive(Debug)]
struct Known {
    since: Duration,
    due: Duration,
    /// What it had mapped when that was read without an error.
    read: Option<MappedPages>,
    libraries: BTreeSet<FileId>,
    is_refused: bool,
}

impl Search {
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            processes: BTreeMap::new(),
            opener: Guarded::new(OPEN_TIME),
            refused: 0,
            unanswered: 0,
        }
    }

    /// Makes all processes due, and their mappings unknown.
    pub(super) fn hurry(&mut self) {
        for known in self.processes.values_mut() {
            known.due = Duration::ZERO;
            known.read = None;
        }
    }

    /// Inspects processes that are new or due, `now` after the start, until the time for it is over;
    /// returns every library that `is_known` does not know.
    ///
    /// # Errors
    ///
    /// When processes cannot be listed.
    pub(super) fn look(
        &mut self,
        now: Duration,
        is_known: &dyn Fn(FileId) -> bool,
    ) -> io::Result<Vec<Found>> {
        let begun = instant();
        let pids: BTreeSet<u32> =
            kernel_file::names(&self.proc)?.iter().filter_map(|name| name.parse().ok()).collect();
        self.processes.retain(|pid, _| pids.contains(pid));
        let mut found: Vec<Found> = Vec::new();
        for (pid, user) in self.due(&pids, now) {
            if begun.elapsed() >= LOOK_TIME || found.len() >= FOUND_LIMIT {
                break;
            }
            let since = self.processes.get(&pid).map_or(now, |known| known.since);
            let due = now + (now.saturating_sub(since) / 4).clamp(SOONEST, LATEST);
            let folder = self.proc.join(pid.to_string());
            let pages = MappedPages::read(&folder, now);
            if let Some(known) = self.processes.get_mut(&pid)
                && let (Some(pages), Some(before)) = (pages, known.read)
                && pages.is_as(&before)
            {
                known.due = due;
                continue;
            }
            let mut ids = BTreeSet::new();
            let mut take = |mapped: Vec<Mapped>| {
                mapped.into_iter().try_for_each(|one| {
                    let one = self.open(one, &folder, user)?;
                    ids.insert(one.id);
                    if !is_known(one.id) && found.iter().all(|other| other.id != one.id) {
                        found.push(one);
                    }
                    Ok(())
                })
            };
            let looked = libraries(&folder).and_then(&mut take);
            let read = pages.filter(|_| looked.is_ok());
            let is_refused =
                looked.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
            let libraries = ids;
            self.processes.insert(pid, Known { since, due, read, libraries, is_refused });
        }
        self.refused = self.processes.values().filter(|known| known.is_refused).count();
        Ok(found)
    }

    /// The processes that are due, and whose they are: each user's first, then each user's second, and
    /// so on, the longest due first.
    fn due(&self, pids: &BTreeSet<u32>, now: Duration) -> Vec<(u32, u32)> {
        let since = |pid: &u32| self.processes.get(pid).map_or(Duration::ZERO, |known| known.due);
        let mut due: Vec<(Duration, u32)> =
            pids.iter().map(|pid| (since(pid), *pid)).filter(|(due, _)| *due <= now).collect();
        due.sort_unstable();
        let mut of_user: BTreeMap<u32, u32> = BTreeMap::new();
        let ranked = due.into_iter().map(|(_, pid)| {
            let folder = self.proc.join(pid.to_string());
            let user = folder.metadata().map_or(u32::MAX, |metadata| metadata.uid());
            let turn = of_user.entry(user).or_insert(0);
            *turn += 1;
            (*turn, pid, user)
        });
        let mut ranked: Vec<(u32, u32, u32)> = ranked.collect();
        ranked.sort_by_key(|(turn, ..)| *turn);
        ranked.into_iter().map(|(_, pid, user)| (pid, user)).collect()
    }

    fn open(&mut self, mapped: Mapped, folder: &Path, user: u32) -> io::Result<Found> {
        let (folder, path) = (folder.to_owned(), mapped.path.clone());
        let opened = self.opener.run(move || {
            let file = mapped.open(&folder)?;
            let metadata = file.metadata()?;
            Ok((FileId { device: metadata.dev(), inode: metadata.ino() }, file))
        });
        match opened {
            Ok(opened) => opened.map(|(id, file)| Found { id, path, file, user }),
            Err(abandoned) => {
                self.unanswered += 1;
                Err(io::Error::new(io::ErrorKind::TimedOut, abandoned))
            }
        }
    }

    /// The libraries that processes had mapped when they were last inspected.
    pub(super) fn used(&self) -> BTreeSet<FileId> {
        self.processes.values().flat_map(|known| &known.libraries).copied().collect()
    }
}

/// Libraries that have watched functions, or may have them.
fn libraries(folder: &Path) -> io::Result<Vec<Mapped>> {
    let maps = kernel_file::bytes(&folder.join("maps"), MAPS_LIMIT)?;
    let mut found: Vec<Mapped> = Vec::new();
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(one) = std::str::from_utf8(line).ok().and_then(mapping) else { continue };
        if found.len() >= LIBRARY_LIMIT {
            break;
        }
        if found.iter().all(|other| (other.inode, &other.path) != (one.inode, &one.path)) {
            found.push(one);
        }
    }
    Ok(found)
}

/// Reads a line of `/proc/PID/maps` (proc_pid_maps(5)); `None` unless it is code of such a library.
fn mapping(line: &str) -> Option<Mapped> {
    let (fields, path) = line.split_at_checked(line.find('/')?)?;
    let mut fields = fields.split_ascii_whitespace();
    let (range, permissions) = (fields.next()?, fields.next()?);
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    let device = (u64::from_str_radix(major, 16).ok()?, u64::from_str_radix(minor, 16).ok()?);
    let inode = fields.next()?.parse().ok()?;
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next()?;
    let is_wanted = name.starts_with("libnccl.so")
        || name.starts_with("libibverbs.so")
        || name == "libtorch_cuda.so";
    (is_wanted && permissions.contains('x')).then(|| Mapped {
        range: range.to_owned(),
        device,
        inode,
        path: path.to_owned(),
    })
}

#[expect(clippy::disallowed_methods, reason = "a look takes limited time")]
fn instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line = |permissions: &str, path: &str| {
            mapping(&format!("7f00-7f10 {permissions} 0004e000 fe:01 4711       {path}"))
        };
        let found = |path: &str| {
            let (path, device) = (path.to_owned(), (0xfe, 1));
            Some(Mapped { range: "7f00-7f10".to_owned(), device, inode: 4711, path })
        };
        let wheel = "/opt/venv a/nvidia/nccl/lib/libnccl.so.2";
        assert_eq!(line("r-xp", wheel), found(wheel));
        let deleted = format!("{wheel} (deleted)");
        assert_eq!(line("r-xp", &deleted), found(wheel));
        assert_eq!(line("r--p", wheel), None);
        for path in ["/usr/lib/libibverbs.so.1.14.44.0", "/torch/lib/libtorch_cuda.so"] {
            assert_eq!(line("r-xp", path), found(path));
        }
        for path in ["/usr/lib/libnccl-net.so", "[vdso]", "", "/usr/lib/libc.so.6"] {
            assert_eq!(line("r-xp", path), None);
        }
        assert_eq!(mapping("7f00-7f10 /libnccl.so.2"), None);
        assert_eq!(mapping("7f00-7f10 r-xp 0 x:y 1 /libnccl.so.2"), None);
    }
}
