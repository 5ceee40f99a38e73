//! Which processes have mapped which libraries, from `/proc`.
//!
//! A library is identified by the mapped file, not by its path: processes may see different files under
//! one path, or have a deleted file mapped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ingest::kernel_file;

/// Bytes of `/proc/PID/maps` that are read: PyTorch has about 5,000 lines.
const MAPS_LIMIT: u64 = 8 << 20;

/// Most libraries of one process.
const LIBRARY_LIMIT: usize = 32;

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
}

/// Processes and their libraries.
#[derive(Debug)]
pub(super) struct Search {
    proc: PathBuf,
    processes: BTreeMap<u32, Known>,
    /// Processes that could not be inspected the last time.
    pub(super) refused: usize,
}

/// An inspected process.
#[derive(Debug)]
struct Known {
    since: Duration,
    due: Duration,
    libraries: BTreeSet<FileId>,
    is_refused: bool,
}

impl Search {
    pub(super) fn new(proc: &Path) -> Self {
        Self { proc: proc.to_owned(), processes: BTreeMap::new(), refused: 0 }
    }

    /// Makes all processes due.
    pub(super) fn hurry(&mut self) {
        self.processes.values_mut().for_each(|known| known.due = Duration::ZERO);
    }

    /// Inspects processes that are new or due, `now` after the start; returns every library that
    /// `is_known` does not know.
    ///
    /// # Errors
    ///
    /// When processes cannot be listed.
    pub(super) fn look(
        &mut self,
        now: Duration,
        is_known: &dyn Fn(FileId) -> bool,
    ) -> io::Result<Vec<Found>> {
        let pids: BTreeSet<u32> =
            kernel_file::names(&self.proc)?.iter().filter_map(|name| name.parse().ok()).collect();
        self.processes.retain(|pid, _| pids.contains(pid));
        let mut found: Vec<Found> = Vec::new();
        for pid in pids {
            let known = self.processes.get(&pid);
            if known.is_some_and(|known| known.due > now) {
                continue;
            }
            let since = known.map_or(now, |known| known.since);
            let due = now + (now.saturating_sub(since) / 4).clamp(SOONEST, LATEST);
            let folder = self.proc.join(pid.to_string());
            let mut ids = BTreeSet::new();
            let mut take = |mapped: Vec<Mapped>| {
                mapped.into_iter().try_for_each(|one| {
                    let one = one.open(&folder)?;
                    ids.insert(one.id);
                    if !is_known(one.id) && found.iter().all(|other| other.id != one.id) {
                        found.push(one);
                    }
                    Ok(())
                })
            };
            let looked = libraries(&folder).and_then(&mut take);
            let is_refused =
                looked.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
            let libraries = ids;
            self.processes.insert(pid, Known { since, due, libraries, is_refused });
        }
        self.refused = self.processes.values().filter(|known| known.is_refused).count();
        Ok(found)
    }

    /// Whether a process had it mapped when it was last inspected.
    pub(super) fn is_used(&self, library: FileId) -> bool {
        self.processes.values().any(|known| known.libraries.contains(&library))
    }
}

/// A mapping of a library.
#[derive(Debug, PartialEq, Eq)]
struct Mapped {
    /// `START-END`, as in `/proc/PID/map_files`.
    range: String,
    inode: u64,
    /// As the process sees it.
    path: String,
}

impl Mapped {
    /// The file: the mapping itself, which only a privileged process may open, else the file that the
    /// process sees at the path, else the file at the path here, if it is the same one.
    fn open(self, folder: &Path) -> io::Result<Found> {
        // The path may be a pipe by now, and opening it would block.
        let open =
            |path: &Path| OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let mapped = open(&folder.join("map_files").join(&self.range));
        let file = mapped.or_else(|error| {
            let seen = folder.join("root").join(self.path.trim_start_matches('/'));
            let is_same = |file: &File| file.metadata().is_ok_and(|file| file.ino() == self.inode);
            let paths = [seen, PathBuf::from(&self.path)];
            let mut files = paths.iter().filter_map(|path| open(path).ok().filter(is_same));
            files.next().ok_or(error)
        })?;
        let metadata = file.metadata()?;
        let id = FileId { device: metadata.dev(), inode: metadata.ino() };
        Ok(Found { id, path: self.path, file })
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
    let inode = fields.nth(2)?.parse().ok()?;
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next()?;
    let is_wanted = name.starts_with("libnccl.so")
        || name.starts_with("libibverbs.so")
        || name == "libtorch_cuda.so";
    (is_wanted && permissions.contains('x')).then(|| Mapped {
        range: range.to_owned(),
        inode,
        path: path.to_owned(),
    })
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
            let path = path.to_owned();
            Some(Mapped { range: "7f00-7f10".to_owned(), inode: 4711, path })
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
    }
}
