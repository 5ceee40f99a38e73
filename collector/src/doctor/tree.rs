//! The files of a node: below `/`, or below another root, as where a container mounts its host.

use std::ffi::OsString;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Most bytes of one file.
const FILE_LIMIT: u64 = 256 * 1024;
/// Most names of one folder.
const NAME_LIMIT: usize = 8_192;

/// What was read, or why it was not.
pub type Known<T> = Result<T, Missing>;

/// Why a fact is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The file, or what else was asked.
    pub what: String,
    /// The reason.
    pub why: Why,
}

/// A reason why a fact is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no such file: the kernel, the driver or the device does not have it.
    Absent,
    /// This user may not read it.
    Denied,
    /// It is a fact of the running system, and another root is examined.
    OtherRoot,
    /// Anything else.
    Failed(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Absent => write!(f, "{} does not exist", self.what),
            Why::Denied => write!(f, "for root only: {}", self.what),
            Why::OtherRoot => f.write_str("known of the running system only, not below --root"),
            Why::Failed(reason) => write!(f, "{}: {reason}", self.what),
        }
    }
}

impl Missing {
    /// A fact that a call did not give.
    #[must_use]
    pub fn of_error(what: impl Into<String>, error: &io::Error) -> Self {
        let why = match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Unsupported => Why::Absent,
            ErrorKind::PermissionDenied => Why::Denied,
            _ => Why::Failed(error.to_string()),
        };
        Self { what: what.into(), why }
    }
}

/// The files of a node.
#[derive(Clone, Debug)]
pub struct Tree {
    root: PathBuf,
    is_running_system: bool,
}

/// Most symbolic links on the way to a file, as the kernel's (`MAXSYMLINKS`).
const LINK_LIMIT: usize = 40;

impl Tree {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), is_running_system: root == Path::new("/") }
    }

    /// The files that a process sees, which has another root in a container; this tree where it may not be looked at.
    #[must_use]
    pub fn of_process(&self, pid: u32) -> Self {
        // No link of the file system: only the kernel knows where it leads (proc_pid_root(5)).
        let root = self.path(&format!("/proc/{pid}")).join("root");
        let may_look = std::fs::read_dir(&root).is_ok();
        let of_process = || Self { root, is_running_system: self.is_running_system };
        if may_look { of_process() } else { self.clone() }
    }

    /// Whether it is the running system's: only then do calls to the kernel concern the same node.
    #[must_use]
    pub fn is_running_system(&self) -> bool {
        self.is_running_system
    }

    /// Refuses unless this is the running system.
    ///
    /// # Errors
    ///
    /// [`Why::OtherRoot`].
    pub fn of_running_system(&self, what: &str) -> Known<()> {
        let missing = || Missing { what: what.to_owned(), why: Why::OtherRoot };
        self.is_running_system().then_some(()).ok_or_else(missing)
    }

    /// Where a file of the node is. Symbolic links stay below the root, as they would if it were ours.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        match self.root == Path::new("/") {
            true => PathBuf::from(path),
            false => self.root.join(self.resolved(path)),
        }
    }

    /// `path` without symbolic links, relative to the root; what does not exist is taken as it is.
    fn resolved(&self, path: &str) -> PathBuf {
        let parts = |path: &Path| -> Vec<OsString> {
            let parts = path.components().filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some(OsString::from("..")),
                _ => None,
            });
            parts.collect()
        };
        let mut resolved = PathBuf::new();
        let mut links = 0;
        // The next part is the last.
        let mut rest: Vec<OsString> = parts(Path::new(path)).into_iter().rev().collect();
        while let Some(part) = rest.pop() {
            if part == ".." {
                resolved.pop();
                continue;
            }
            let at = resolved.join(&part);
            let target = std::fs::read_link(self.root.join(&at)).ok();
            match target.filter(|_| links < LINK_LIMIT) {
                Some(target) => {
                    links += 1;
                    if target.is_absolute() {
                        resolved = PathBuf::new();
                    }
                    rest.extend(parts(&target).into_iter().rev());
                }
                None => resolved = at,
            }
        }
        resolved
    }

    /// The bytes of a file, as far as its limit.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn bytes(&self, path: &str) -> Known<Vec<u8>> {
        let mut bytes = Vec::new();
        // A FIFO would block before its kind can be seen.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = options.open(self.path(path));
        let read = file.and_then(|file| {
            // A FIFO or a device would never end.
            let is_file = file.metadata()?.is_file();
            if !is_file {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
            }
            file.take(FILE_LIMIT).read_to_end(&mut bytes)
        });
        read.map(|_| bytes).map_err(|error| Missing::of_error(path, &error))
    }

    /// The text of a file, without the white space around it.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn text(&self, path: &str) -> Known<String> {
        let bytes = self.bytes(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The number in a file, after `0x` in base 16.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is none.
    pub fn number(&self, path: &str) -> Known<u64> {
        let text = self.text(path)?;
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let missing =
            || Missing { what: path.to_owned(), why: Why::Failed("is no number".to_owned()) };
        number.ok_or_else(missing)
    }

    /// The names in a folder, in order.
    ///
    /// # Errors
    ///
    /// When it cannot be listed.
    pub fn names(&self, folder: &str) -> Known<Vec<String>> {
        let entries = std::fs::read_dir(self.path(folder));
        let entries = entries.map_err(|error| Missing::of_error(folder, &error))?;
        let names =
            entries.take(NAME_LIMIT).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Whether there is a file or folder.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The name of what a symbolic link leads to: `mlx5_core` of `device/driver`.
    #[must_use]
    pub fn link_name(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/')?;
        let target = std::fs::read_link(self.path(folder).join(name)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// The folders from the root to where `path` truly is.
    #[must_use]
    pub fn real_parts(&self, path: &str) -> Vec<String> {
        let resolved = self.resolved(path);
        let part = |part: Component<'_>| Some(part.as_os_str().to_str()?.to_owned());
        resolved.components().filter_map(part).collect()
    }
}
