//! Which processes have a ring, from `/proc`.
//!
//! A ring's name has the number that the process has in its own container. Any user can make a file of
//! that name, so a ring counts only if the process has mapped it. Opening may hang, as on a file system of
//! the user's own, so it is done where a thread may be abandoned.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::file::RingFile;
use crate::ingest::guarded::Guarded;
use crate::ingest::kernel_file;

/// Begins of names of rings.
const PREFIX: &str = "railscope-profiler.";

/// Bytes of `/proc/PID/maps` that are read, and of `/proc/PID/status`.
const MAPS_LIMIT: u64 = 8 << 20;
const STATUS_LIMIT: u64 = 16 << 10;

/// Time after which a look ends; what is left waits for the next one.
const LOOK_TIME: Duration = Duration::from_millis(100);

/// How long opening a file may take.
const OPEN_TIME: Duration = Duration::from_millis(500);

/// A process is looked at again after a quarter of the time since it was found, within these bounds: NCCL
/// begins when the job does, and a ring keeps what happened since.
const SOONEST: Duration = Duration::from_secs(1);
const LATEST: Duration = Duration::from_secs(15);

/// A ring of a process.
#[derive(Debug)]
pub struct FoundRing {
    /// The process.
    pub pid: u32,
    /// Its user.
    pub user: u32,
    /// The ring.
    pub ring: RingFile,
}

/// Processes, and when to look at them.
#[derive(Debug)]
pub struct RingSearch {
    proc: PathBuf,
    folder: PathBuf,
    writes: bool,
    processes: BTreeMap<u32, Known>,
    opener: Guarded,
    unanswered: u64,
    refused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    since: Duration,
    due: Duration,
    /// What is there is no ring; counted once.
    is_refused: bool,
}

/// What `/proc/PID/status` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status {
    /// The number of the process in its own namespace.
    own_pid: u32,
    /// The user that its files belong to.
    user: u32,
}

impl RingSearch {
    /// Rings in `folder`, as each process that `proc` lists sees it; opened for writing, too, if `writes`.
    #[must_use]
    pub fn new(proc: &Path, folder: &Path, writes: bool) -> Self {
        Self {
            proc: proc.to_owned(),
            folder: folder.to_owned(),
            writes,
            processes: BTreeMap::new(),
            opener: Guarded::new(OPEN_TIME),
            unanswered: 0,
            refused: 0,
        }
    }

    /// Looks at processes that are new or due, `now` after the start, but for those that are `known`, until
    /// the time for it is over.
    ///
    /// # Errors
    ///
    /// When processes cannot be listed.
    pub fn look(
        &mut self,
        now: Duration,
        known: &dyn Fn(u32) -> bool,
    ) -> io::Result<Vec<FoundRing>> {
        let begun = instant();
        let names = kernel_file::names(&self.proc)?;
        let pids: BTreeSet<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        self.processes.retain(|pid, _| pids.contains(pid));
        let due_at = |pid: &u32| self.processes.get(pid).map_or(Duration::ZERO, |known| known.due);
        let mut due: Vec<(Duration, u32)> = pids
            .into_iter()
            .filter(|pid| !known(*pid))
            .map(|pid| (due_at(&pid), pid))
            .filter(|(due, _)| *due <= now)
            .collect();
        // The longest due first: nobody's processes are always last.
        due.sort_unstable();
        let mut found = Vec::new();
        for (_, pid) in due {
            if begun.elapsed() >= LOOK_TIME {
                break;
            }
            let before = self.processes.get(&pid).copied();
            let since = before.map_or(now, |known| known.since);
            let due = now + (now.saturating_sub(since) / 4).clamp(SOONEST, LATEST);
            let mut is_refused = before.is_some_and(|known| known.is_refused);
            match self.open(pid) {
                Ok(ring) => found.extend(ring),
                Err(_) if is_refused => {}
                Err(_) => {
                    is_refused = true;
                    self.refused = self.refused.saturating_add(1);
                }
            }
            self.processes.insert(pid, Known { since, due, is_refused });
        }
        Ok(found)
    }

    /// Files that did not open in time, since the last call.
    pub fn take_unanswered(&mut self) -> u64 {
        std::mem::take(&mut self.unanswered)
    }

    /// Files that are no rings, since the last call.
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// The ring of a process; `None` if it has none, or cannot be inspected.
    fn open(&mut self, pid: u32) -> io::Result<Option<FoundRing>> {
        let folder = self.proc.join(pid.to_string());
        let Ok(status) = kernel_file::bytes(&folder.join("status"), STATUS_LIMIT) else {
            return Ok(None);
        };
        let Some(Status { own_pid, user }) = Status::parse(&String::from_utf8_lossy(&status))
        else {
            return Ok(None);
        };
        let path = self.folder.join(format!("{PREFIX}{own_pid}"));
        let (root, writes) = (folder.join("root"), self.writes);
        let opened = self.opener.run(move || RingFile::open(&root, &path, user, writes));
        let ring = match opened {
            Ok(Ok(ring)) => ring,
            Ok(Err(error)) if error.kind() == io::ErrorKind::InvalidData => return Err(error),
            // None there, or not to be seen from here.
            Ok(Err(_)) => return Ok(None),
            Err(_) => {
                self.unanswered = self.unanswered.saturating_add(1);
                return Ok(None);
            }
        };
        // Another process of the same number, in another container that shares the folder.
        let is_its = maps(&folder, ring.id())?;
        Ok(is_its.then_some(FoundRing { pid, user, ring }))
    }
}

impl Status {
    /// `None` of a thread of the kernel.
    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::split_ascii_whitespace)
        };
        field("VmSize:")?;
        let user = field("Uid:")?.nth(3)?.parse().ok()?;
        // Linux before 4.1 does not say.
        let pid = field("NSpid:").or_else(|| field("Pid:"))?.next_back()?;
        Some(Self { own_pid: pid.parse().ok()?, user })
    }
}

/// Whether a process has mapped the file with this device and inode.
fn maps(folder: &Path, id: (u64, u64)) -> io::Result<bool> {
    let Ok(maps) = kernel_file::bytes(&folder.join("maps"), MAPS_LIMIT) else { return Ok(false) };
    let is_it = |line: &[u8]| {
        std::str::from_utf8(line).ok().and_then(mapping).is_some_and(|(device, inode)| {
            device == (libc::major(id.0).into(), libc::minor(id.0).into()) && inode == id.1
        })
    };
    Ok(maps.split(|byte| *byte == b'\n').any(is_it))
}

/// Device and inode of a line of `/proc/PID/maps` that names a ring.
fn mapping(line: &str) -> Option<((u64, u64), u64)> {
    let (fields, path) = line.split_at_checked(line.find('/')?)?;
    path.rsplit('/').next()?.starts_with(PREFIX).then_some(())?;
    let mut fields = fields.split_ascii_whitespace().skip(3);
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = (u64::from_str_radix(major, 16).ok()?, u64::from_str_radix(minor, 16).ok()?);
    Some((device, fields.next()?.parse().ok()?))
}

#[expect(clippy::disallowed_methods, reason = "a look takes limited time")]
fn instant() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_words() {
        let status = "Name:\tpython3\nPid:\t4711\nUid:\t1000\t1000\t1000\t1001\nNSpid:\t4711\t7\nVmSize:\t9 kB\n";
        assert_eq!(Status::parse(status), Some(Status { own_pid: 7, user: 1001 }));
        let old = status.replace("NSpid:\t4711\t7\n", "");
        assert_eq!(Status::parse(&old), Some(Status { own_pid: 4711, user: 1001 }));
        assert_eq!(Status::parse(&status.replace("VmSize", "VmNone")), None);
        for odd in ["", "VmSize:", "VmSize:\nUid:\t1", "VmSize:\nUid:\t1 1 1 x\nPid:\t1"] {
            assert_eq!(Status::parse(odd), None);
        }
        let line = "7f00-7f10 rw-s 00000000 00:1a 4711       /dev/shm/railscope-profiler.7";
        assert_eq!(mapping(line), Some(((0, 0x1a), 4711)));
        assert_eq!(mapping(&line.replace("railscope", "other")), None);
        assert_eq!(mapping("7f00 /dev/shm/railscope-profiler.7"), None);
    }

    #[test]
    fn a_file_that_its_process_has_not_mapped_is_no_ring() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let own = format!("{PREFIX}{}", std::process::id());
        std::fs::write(folder.path().join(own), vec![0; 8192]).unwrap();
        let mut search = RingSearch::new(Path::new("/proc"), folder.path(), false);
        let found = search.look(Duration::ZERO, &|_| false).unwrap();
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(search.take_refused(), 0);
    }
}
