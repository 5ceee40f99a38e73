//! Trees of kernel files as text: `path = content`, `path -> target` for a link, and `ethtool
//! NETDEV: name = value` for an interface's statistics. `#` begins a comment; `\0` and `\n` stand
//! for those bytes.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use railscope::ingest::counter::ethtool::NetdevStatistics;
use tempfile::TempDir;

/// A tree in a folder that is removed on drop.
pub struct Tree {
    folder: TempDir,
    pub statistics: Statistics,
}

/// An interface's statistics in a tree.
#[derive(Clone, Default)]
pub struct Statistics(pub BTreeMap<String, Vec<(String, u64)>>);

/// The text of `tests/fixtures/FOLDER/NAME`.
pub fn fixture(folder: &str, name: &str) -> String {
    let path = super::fixture::folder().join(folder).join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Tree {
    /// Writes the trees to one folder.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut tree =
            Self { folder: tempfile::tempdir().unwrap(), statistics: Statistics::default() };
        texts.into_iter().flat_map(str::lines).for_each(|line| tree.add(line));
        tree
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    fn add(&mut self, line: &str) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if let Some(statistic) = line.strip_prefix("ethtool ") {
            let (netdev, statistic) = statistic.split_once(": ").unwrap();
            let (name, value) = statistic.rsplit_once(" = ").unwrap();
            let statistics = self.statistics.0.entry(netdev.to_owned()).or_default();
            statistics.push((name.to_owned(), value.parse().unwrap()));
        } else if let Some((path, target)) = line.split_once(" -> ") {
            let path = self.place(path);
            std::os::unix::fs::symlink(target, path).unwrap();
        } else {
            let (path, content) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
            self.write(path, &content.replace("\\0", "\0").replace("\\n", "\n"));
        }
    }

    pub fn write(&self, path: &str, content: &str) {
        fs::write(self.place(path), format!("{content}\n")).unwrap();
    }

    /// The path; creates its parent folders.
    fn place(&self, path: &str) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }
}

impl NetdevStatistics for Statistics {
    fn read(&mut self, netdev: &str) -> io::Result<Vec<(String, u64)>> {
        self.0.get(netdev).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
