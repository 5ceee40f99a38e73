//! Files that were read, and whether they are still the same.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files, as they were just before they were read.
#[derive(Debug, Default)]
pub struct Files(Vec<(PathBuf, Option<Stamp>)>);

/// What differs if a file was written, or another is in its place, also behind a link as Kubernetes makes
/// them for secrets.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds of the last change.
    changed: (i64, i64),
}

impl Files {
    pub(super) fn add(&mut self, path: Option<&Path>) {
        self.0.extend(path.map(|path| (path.to_owned(), stamp(path))));
    }

    /// Whether one of them differs from what was read.
    #[must_use]
    pub fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, known)| stamp(path) != *known)
    }
}

/// `None` if there is no such file.
fn stamp(path: &Path) -> Option<Stamp> {
    let file = fs::metadata(path).ok()?;
    let changed = (file.ctime(), file.ctime_nsec());
    Some(Stamp { device: file.dev(), inode: file.ino(), size: file.size(), changed })
}
