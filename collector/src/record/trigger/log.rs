//! Waits for a line in a file that another program writes.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use regex_lite::Regex;

/// Bytes read at once; a longer line is looked at in parts.
const BATCH: usize = 64 << 10;

/// Bytes looked at in one call: a file may grow faster than it can be read.
const MOST_BATCHES: usize = 64;

/// Characters of a line that are repeated.
const SHOWN: usize = 200;

/// A file that is followed from its end on, also after it was rotated.
#[derive(Debug)]
pub struct LogWatch {
    path: PathBuf,
    regex: Regex,
    file: Option<Open>,
    /// The begin of a line whose end is not there yet.
    rest: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    file: File,
    inode: u64,
    read: u64,
}

impl LogWatch {
    /// Waits for lines that are added from now on; the file may come later.
    #[must_use]
    pub fn new(path: &Path, regex: Regex) -> Self {
        let mut file = Open::new(path);
        if let Some(open) = &mut file {
            open.read = open.file.seek(SeekFrom::End(0)).unwrap_or(0);
        }
        Self { path: path.to_owned(), regex, file, rest: Vec::new() }
    }

    /// Whether the file is there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// The first new line that matches; others that came with it are passed over.
    pub fn matching(&mut self) -> Option<String> {
        let mut found = None;
        for _ in 0..MOST_BATCHES {
            let mut batch = vec![0; BATCH];
            let Some(open) = &mut self.file else {
                self.file = Open::new(&self.path);
                if self.file.is_none() {
                    break;
                }
                continue;
            };
            let count = open.file.read(&mut batch).unwrap_or(0);
            open.read += count as u64;
            if count == 0 {
                if open.is_replaced(&self.path) {
                    self.file = None;
                    self.rest.clear();
                    continue;
                }
                break;
            }
            batch.truncate(count);
            self.rest.extend_from_slice(&batch);
            found = found.or_else(|| self.first_match());
        }
        found
    }

    /// Looks at all whole lines.
    fn first_match(&mut self) -> Option<String> {
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.rest.len() >= BATCH => self.rest.len(),
            None => return None,
        };
        let lines: Vec<u8> = self.rest.drain(..end).collect();
        let text = String::from_utf8_lossy(&lines);
        let line = text.lines().find(|line| self.regex.is_match(line))?;
        Some(line.chars().take(SHOWN).filter(|c| !c.is_control()).collect())
    }
}

impl Open {
    fn new(path: &Path) -> Option<Self> {
        // A pipe would block.
        if !fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let file = File::open(path).ok()?;
        let inode = file.metadata().ok()?.ino();
        Some(Self { file, inode, read: 0 })
    }

    /// Whether another file has its name, or it was overwritten.
    fn is_replaced(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|now| now.ino() != self.inode || now.len() < self.read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn new_lines_count_also_after_a_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        fs::write(&path, "loss NaN of yesterday\n").unwrap();
        let mut watch = LogWatch::new(&path, Regex::new("NaN").unwrap());
        assert_eq!(watch.matching(), None);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"step 3\nloss Na").unwrap();
        assert_eq!(watch.matching(), None);
        file.write_all(b"N\nstep 4\n").unwrap();
        assert_eq!(watch.matching(), Some("loss NaN".to_owned()));
        assert_eq!(watch.matching(), None);
        fs::rename(&path, folder.path().join("train.log.1")).unwrap();
        assert_eq!(watch.matching(), None);
        fs::write(&path, "new: NaN\n").unwrap();
        assert_eq!(watch.matching(), Some("new: NaN".to_owned()));
    }
}
