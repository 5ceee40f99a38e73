//! The source of bytes: a file, standard input or any reader; counts them for progress.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use super::error::IngestError;
use super::event::Progress;

/// Bytes read to recognise the compression.
const START_BYTES: u64 = 4;

/// A source of bytes as on disk.
pub(in crate::ingest) struct Input {
    /// The file, as the user named it.
    pub(super) name: String,
    source: Box<dyn Read + Send>,
    /// `None` for what can be read only once.
    file: Option<Arc<File>>,
    /// The first bytes, read ahead to recognise compression, and how many of them have been delivered.
    start: Vec<u8>,
    start_given: usize,
    progress: Progress,
}

/// Whether a path means standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Input {
    pub(super) fn open(path: &Path, name: String) -> Result<Self, IngestError> {
        if is_stdin(path) {
            return Ok(Self::from_reader(name, Box::new(io::stdin())));
        }
        let open = || {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            Ok((file, metadata))
        };
        let (file, metadata) = match open() {
            Ok(opened) => opened,
            Err(source) => return Err(IngestError::Open { file: name, source }),
        };
        if metadata.is_dir() {
            return Err(IngestError::Directory { file: name });
        }
        // A pipe or a device has no meaningful length.
        if !metadata.is_file() {
            return Ok(Self::from_reader(name, Box::new(file)));
        }
        Ok(Self::of_file(name, Arc::new(file), metadata.len(), u64::MAX))
    }

    /// A file that is `len` bytes long, from its start to `end` at most.
    fn of_file(name: String, file: Arc<File>, len: u64, end: u64) -> Self {
        let source = Box::new(FileRange { file: Arc::clone(&file), at: 0, end });
        let mut input = Self::from_reader(name, source);
        input.progress.bytes_total = Some(len);
        Self { file: Some(file), ..input }
    }

    /// The same from its start on, as long as it was when it was opened; `None` if it can be read only once.
    pub(super) fn again(&self) -> Option<Self> {
        let (file, len) = self.file.as_ref().zip(self.progress.bytes_total)?;
        Some(Self::of_file(self.name.clone(), Arc::clone(file), len, len))
    }

    pub(in crate::ingest) fn from_reader(name: String, source: Box<dyn Read + Send>) -> Self {
        Self {
            name,
            source,
            file: None,
            start: Vec::new(),
            start_given: 0,
            progress: Progress::default(),
        }
    }

    /// The first bytes, which [`Read::read`] delivers again; fewer if the file is shorter.
    pub(super) fn peek_start(&mut self) -> io::Result<&[u8]> {
        let wanted = START_BYTES - self.start.len() as u64;
        self.source.by_ref().take(wanted).read_to_end(&mut self.start)?;
        Ok(&self.start)
    }

    /// The progress never exceeds 100 %, even if a file has grown since it was opened.
    pub(in crate::ingest) fn progress(&self) -> Progress {
        let Progress { bytes_read, bytes_total } = self.progress;
        Progress { bytes_read, bytes_total: bytes_total.map(|total| total.max(bytes_read)) }
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut start = self.start.get(self.start_given..).unwrap_or_default();
        let count = if start.is_empty() {
            self.source.read(into)?
        } else {
            let count = start.read(into)?;
            self.start_given += count;
            count
        };
        self.progress.bytes_read += count as u64;
        Ok(count)
    }
}

/// A file up to some byte, read at a place of its own.
struct FileRange {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for FileRange {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        let count = self.file.read_at(&mut into[..wanted], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
