//! Names of files that are read from elsewhere than where the user named them: members of bundles.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What reports and messages call a file, by the path that opens it; a path without an entry is its own name.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(BTreeMap<PathBuf, String>);

impl Names {
    pub(super) fn add(&mut self, path: PathBuf, name: String) {
        self.0.insert(path, name);
    }

    /// What `path` is called.
    pub(super) fn of<'a>(&'a self, path: &'a Path) -> Cow<'a, str> {
        self.0.get(path).map_or_else(|| path.to_string_lossy(), |name| Cow::Borrowed(name.as_str()))
    }

    /// The other names.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}
