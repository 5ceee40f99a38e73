//! The files of a node: below `/`, or below another root, as where a container mounts its host.

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
}

impl Tree {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether it is the running system's: only then do calls to the kernel concern the same node.
    #[must_use]
    pub fn is_running_system(&self) -> bool {
        self.root == Path::new("/")
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

    /// Where a file of the node is.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
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
        let target = std::fs::read_link(self.path(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// The folders from the root to where `path` truly is; empty if that is outside the root.
    #[must_use]
    pub fn real_parts(&self, path: &str) -> Vec<String> {
        let real = std::fs::canonicalize(self.path(path)).ok();
        let root = std::fs::canonicalize(&self.root).ok();
        let below =
            real.zip(root).and_then(|(real, root)| Some(real.strip_prefix(root).ok()?.to_owned()));
        let part = |part: Component<'_>| Some(part.as_os_str().to_str()?.to_owned());
        below.iter().flat_map(|below| below.components()).filter_map(part).collect()
    }
}
