//! Names of saved files.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use railscope_core::model::time::Timestamp;

/// Characters of a reason in a name.
const REASON_CHARS: usize = 24;

/// Begins the name of a saved file.
const PREFIX: &str = "railscope-";

/// How saved files are named.
#[derive(Clone, Debug)]
pub struct FileNames {
    /// A folder; or the only file, if it ends as a capture does.
    pub output: PathBuf,
    /// The capturing host.
    pub host: String,
    /// Whether files are compressed.
    pub is_compressed: bool,
}

impl FileNames {
    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match is_file(&self.output) {
            true => {
                let parent = self.output.parent();
                parent.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
            }
            false => &self.output,
        }
    }

    /// The next file: `railscope-HOST-20261125T231500Z-REASON.pcapng`.
    pub(super) fn next(&self, reason: &str, time: Timestamp) -> PathBuf {
        if is_file(&self.output) {
            return unused(self.output.clone());
        }
        let nanos = i128::from(time.as_nanos());
        let time = jiff::Timestamp::from_nanosecond(nanos).unwrap_or_default();
        let time = time.strftime("%Y%m%dT%H%M%SZ");
        let (host, reason) = (word(&self.host), word(reason));
        let end = if self.is_compressed { "pcapng.zst" } else { "pcapng" };
        unused(self.output.join(format!("{PREFIX}{host}-{time}-{reason}.{end}")))
    }

    /// How many saved files the folder has.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(super) fn count(&self) -> io::Result<usize> {
        let names = fs::read_dir(self.folder())?.flatten().map(|entry| entry.file_name());
        Ok(names.filter(|name| name.to_string_lossy().starts_with(PREFIX)).count())
    }
}

/// Whether a path names a file rather than a folder.
fn is_file(path: &Path) -> bool {
    let ends = ["pcapng", "pcap", "ntar", "zst"];
    !path.is_dir() && path.extension().is_some_and(|end| ends.iter().any(|one| end == *one))
}

/// The first part of a text, as a part of a name.
fn word(text: &str) -> String {
    let first = text.split(':').next().unwrap_or_default();
    let plain = first.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let word: String = plain.take(REASON_CHARS).collect();
    word.trim_matches('_').to_owned()
}

/// The path, or one with a number that no file has.
fn unused(path: PathBuf) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, end) = name.split_once('.').unwrap_or((&name, "pcapng"));
    let numbered = (2..10_000).map(|number| path.with_file_name(format!("{stem}-{number}.{end}")));
    let mut all = std::iter::once(path.clone()).chain(numbered);
    let is_free = |path: &PathBuf| {
        let mut part: OsString = path.clone().into();
        part.push(".part");
        !path.exists() && !Path::new(&part).exists()
    };
    all.find(is_free).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_new() {
        assert_eq!(word("loss: packets are lost on the way"), "loss");
        assert_eq!(word("../../etc/passwd"), "etc_passwd");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pcapng.zst");
        assert_eq!(unused(path.clone()), path);
        fs::write(&path, "").unwrap();
        assert_eq!(unused(path), folder.path().join("a-2.pcapng.zst"));
        let output = folder.path().to_owned();
        let names = FileNames { output, host: "gpu 1".to_owned(), is_compressed: false };
        assert_eq!(names.count().unwrap(), 0);
        let next = names.next("loss: packets", Timestamp::from_nanos(1_000_000_000));
        assert_eq!(next, names.folder().join("railscope-gpu_1-19700101T000001Z-loss.pcapng"));
        fs::write(next, "").unwrap();
        assert_eq!(names.count().unwrap(), 1);
    }
}
