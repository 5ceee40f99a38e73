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
use super::opener::{Opened, Opener, Owner};
use crate::ingest::kernel_file;
use crate::ingest::process::mapped_pages::MappedPages;

/// Begins of names of rings.
const PREFIX: &str = "railscope-profiler.";

/// Bytes of `/proc/PID/maps` that are read, and of `/proc/PID/status`.
const MAPS_LIMIT: u64 = 8 << 20;
const STATUS_LIMIT: u64 = 16 << 10;

/// Time after which a look ends; what is left waits for the next one.
const LOOK_TIME: Duration = Duration::from_millis(100);

/// A process is looked at again, if only at how much it has mapped, after a quarter of the time since it was
/// found, within these bounds: NCCL begins when the job does, and a ring keeps what happened since.
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
    opener: Opener,
    open: OpenRing,
    unanswered: u64,
    refused: u64,
}

/// Opens the ring at a path below a root for a user, for writing, too, if so.
type OpenRing = fn(&Path, &Path, u32, bool) -> io::Result<RingFile>;

#[derive(Debug)]
struct Known {
    since: Duration,
    due: Duration,
    /// What it had mapped when it had no ring that can be seen from here: it maps more with one.
    without_ring: Option<MappedPages>,
    owner: Option<Owner>,
    /// What is there is no ring; counted once.
    is_refused: bool,
}

/// What there is of a process.
#[derive(Debug)]
enum Seen {
    Ring(FoundRing),
    None,
    /// It has ended, or this process has too many files open.
    Unreadable,
    /// It did not open in time. It is worth another look at `again`.
    Unanswered {
        again: Duration,
    },
    /// A file that is no ring.
    Refused,
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
            opener: Opener::default(),
            open: RingFile::open,
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
        let owners: BTreeSet<&Owner> =
            self.processes.values().filter_map(|one| one.owner.as_ref()).collect();
        self.opener.forget(|owner| owners.contains(owner));
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
            let since = self.processes.get(&pid).map_or(now, |known| known.since);
            let mut due = now + (now.saturating_sub(since) / 4).clamp(SOONEST, LATEST);
            let folder = self.proc.join(pid.to_string());
            let pages = MappedPages::read(&folder, now);
            if let Some(known) = self.processes.get_mut(&pid)
                && let (Some(pages), Some(before)) = (pages, known.without_ring)
                && pages.is_as(&before)
            {
                known.due = due;
                continue;
            }
            let was_refused = self.processes.get(&pid).is_some_and(|known| known.is_refused);
            let (owner, seen) = self.inspect(pid, &folder, now);
            // It may have closed one in the meantime.
            let after = MappedPages::read(&folder, now);
            let is_settled = pages.zip(after).is_some_and(|(before, after)| after.is_as(&before));
            let without_ring = pages.filter(|_| matches!(seen, Seen::None) && is_settled);
            let is_refused = was_refused || matches!(seen, Seen::Refused);
            match seen {
                Seen::Ring(ring) => found.push(ring),
                Seen::Refused if !was_refused => self.refused = self.refused.saturating_add(1),
                Seen::Unanswered { again } => {
                    self.unanswered = self.unanswered.saturating_add(1);
                    due = again.clamp(now + SOONEST, now + LATEST);
                }
                Seen::None | Seen::Unreadable | Seen::Refused => {}
            }
            self.processes.insert(pid, Known { since, due, without_ring, owner, is_refused });
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

    /// Whose folder a process sees, and what is there.
    fn inspect(&mut self, pid: u32, folder: &Path, now: Duration) -> (Option<Owner>, Seen) {
        let Ok(status) = kernel_file::bytes(&folder.join("status"), STATUS_LIMIT) else {
            return (None, Seen::Unreadable);
        };
        let Some(Status { own_pid, user }) = Status::parse(&String::from_utf8_lossy(&status))
        else {
            return (None, Seen::None);
        };
        let owner = owner(folder, user);
        let path = self.folder.join(format!("{PREFIX}{own_pid}"));
        let (root, writes, open) = (folder.join("root"), self.writes, self.open);
        let opened = self.opener.run(&owner, now, move || open(&root, &path, user, writes));
        let seen = match opened {
            Opened::Done(Ok(ring)) => match maps(folder, ring.id()) {
                Ok(true) => Seen::Ring(FoundRing { pid, user, ring }),
                // That of another process of the same number, in another container that shares the folder.
                Ok(false) => Seen::None,
                Err(_) => Seen::Unreadable,
            },
            Opened::Done(Err(error)) => match error.kind() {
                io::ErrorKind::InvalidData => Seen::Refused,
                // None there, or not to be seen from here.
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Seen::None,
                _ => Seen::Unreadable,
            },
            Opened::Late { again } | Opened::LeftAlone { again } => Seen::Unanswered { again },
        };
        (Some(owner), seen)
    }
}

/// Whose folder a process sees. The kernel answers that by itself.
fn owner(folder: &Path, user: u32) -> Owner {
    let namespace = || std::fs::read_link(folder.join("ns/mnt")).ok();
    let namespace = if user == 0 { namespace() } else { None };
    (user, namespace.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
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
    let maps = kernel_file::bytes(&folder.join("maps"), MAPS_LIMIT)?;
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
    use std::os::unix::fs::MetadataExt;

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

    /// Opens nothing below a root that does not answer.
    fn open_unless_it_hangs(
        root: &Path,
        path: &Path,
        user: u32,
        writes: bool,
    ) -> io::Result<RingFile> {
        if root.parent().is_some_and(|of| of.ends_with("11")) {
            std::thread::sleep(Duration::from_secs(2));
        }
        RingFile::open(root, path, user, writes)
    }

    /// A process of a user, without a ring, in a folder like `/proc`.
    fn start(proc: &Path, pid: u32, user: u32) {
        let of = proc.join(pid.to_string());
        std::fs::create_dir_all(of.join("root/rings")).unwrap();
        let status = format!("Uid:\t{user}\t{user}\t{user}\t{user}\nPid:\t{pid}\nVmSize:\t9 kB\n");
        std::fs::write(of.join("status"), status).unwrap();
    }

    /// Makes its ring, which it maps.
    fn map_ring(proc: &Path, pid: u32) {
        let of = proc.join(pid.to_string());
        let ring = of.join(format!("root/rings/{PREFIX}{pid}"));
        std::fs::write(&ring, vec![0; 8192]).unwrap();
        let metadata = ring.metadata().unwrap();
        let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
        let mapped = format!(
            "7f00-7f10 rw-s 00000000 {major:02x}:{minor:02x} {} /rings/{PREFIX}{pid}\n",
            metadata.ino()
        );
        std::fs::write(of.join("maps"), mapped).unwrap();
    }

    #[test]
    fn a_process_is_inspected_again_once_it_has_mapped_more() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let proc = folder.path().join("proc");
        start(&proc, 13, folder.path().metadata().unwrap().uid());
        let statm = proc.join("13/statm");
        std::fs::write(&statm, "1000 50 40 3 0 100 0\n").unwrap();
        let mut search = RingSearch::new(&proc, Path::new("/rings"), false);
        let mut found =
            |second| search.look(Duration::from_secs(second), &|_| false).unwrap().len();
        assert_eq!(found(0), 0);
        map_ring(&proc, 13);
        assert_eq!(found(60), 0, "it has mapped as much as before");
        std::fs::write(&statm, "1002 50 40 3 0 100 0\n").unwrap();
        assert_eq!(found(120), 1);
        assert_eq!(found(180), 1, "nobody reads that ring: it is found again");
    }

    #[test]
    fn one_user_s_folder_that_hangs_hides_no_other_user_s_ring() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let user = folder.path().metadata().unwrap().uid();
        // Two processes of another user, who come first, and one of this user with a ring.
        let proc = folder.path().join("proc");
        for (pid, user) in [(11, user + 1), (12, user + 1), (13, user)] {
            start(&proc, pid, user);
        }
        map_ring(&proc, 13);

        let mut search = RingSearch::new(&proc, Path::new("/rings"), false);
        search.open = open_unless_it_hangs;
        let begun = instant();
        let mut found = Vec::new();
        for second in 0..3 {
            found.extend(search.look(Duration::from_secs(second), &|_| false).unwrap());
        }
        let pids: BTreeSet<u32> = found.iter().map(|one| one.pid).collect();
        assert_eq!(pids, BTreeSet::from([13]));
        assert!(search.take_unanswered() > 0);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
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
