//! Logs and counter files: lines of text, plain, gzip or zstd, with a limit on their length.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use memchr::memchr;

use super::file::encoding::Utf16;
use super::file::event::Progress;
use super::file::input::Input;
use super::file::problem::ProblemKind;
use super::file::stream::Stream;

/// Bytes of a line that are delivered. NCCL's lines have 1024 at most, without prefixes.
pub const LINE_LIMIT: usize = 64 * 1024;

/// Most files of a pattern, and how long looking for them may take.
const MOST_FILES: usize = 10_000;
const SEARCH_TIME: Duration = Duration::from_secs(5);

const WINDOW_BYTES: usize = 4 * LINE_LIMIT;

/// What a text file holds, for error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFile {
    /// An NCCL log.
    Log,
    /// A log with the training's own step numbers.
    TrainingLog,
    /// Samples of NIC counters.
    Counters,
    /// A dump of PyTorch's flight recorder.
    Dump,
    /// A status of NCCL's RAS.
    RasStatus,
}

impl fmt::Display for TextFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "log",
            Self::TrainingLog => "training log",
            Self::Counters => "counter file",
            Self::Dump => "dump",
            Self::RasStatus => "RAS status",
        })
    }
}

/// A text file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file is missing, or reading it is not permitted.
    #[error("open {kind} {file}")]
    Open {
        /// What the file should hold.
        kind: TextFile,
        /// The file, as the user named it.
        file: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A directory was named.
    #[error("open {kind} {file}: it is a directory; name the files in it, as in '{file}/*'")]
    Directory {
        /// What the file should hold.
        kind: TextFile,
        /// The directory, as the user named it.
        file: String,
    },
    /// No file matches the pattern.
    #[error("open {kind} {pattern}: no file matches this name or pattern")]
    NoMatch {
        /// What the files should hold.
        kind: TextFile,
        /// The pattern, as the user typed it.
        pattern: String,
    },
    /// It matches too many files, or looking for them takes too long.
    #[error(
        "open {kind} {pattern}: more than {MOST_FILES} files match, or looking for them takes longer than {} s; \
         name a smaller part of the tree", SEARCH_TIME.as_secs()
    )]
    Endless {
        /// What the files should hold.
        kind: TextFile,
        /// The pattern, as the user typed it.
        pattern: String,
    },
    /// The pattern is malformed.
    #[error("open {kind} {pattern}: {problem}")]
    Pattern {
        /// What the files should hold.
        kind: TextFile,
        /// The pattern, as the user typed it.
        pattern: String,
        /// What is wrong with it.
        problem: glob::PatternError,
    },
}

/// The files that match a pattern, by name. The name of an existing file is taken as it is, whatever
/// characters it has.
///
/// # Errors
///
/// When no file matches.
pub fn expand(kind: TextFile, pattern: &str) -> Result<Vec<PathBuf>, LogError> {
    let has_wildcard = pattern.contains(['*', '?', '[']);
    if !has_wildcard || Path::new(pattern).exists() {
        return Ok(vec![PathBuf::from(pattern)]);
    }
    let paths = glob::glob(pattern).map_err(|problem| LogError::Pattern {
        kind,
        pattern: pattern.to_owned(),
        problem,
    })?;
    // Files in a folder that cannot be listed cannot be read either.
    let found = paths.flatten().filter(|path| path.is_file()).take(MOST_FILES + 1);
    let endless = || LogError::Endless { kind, pattern: pattern.to_owned() };
    let files = search(found).filter(|files| files.len() <= MOST_FILES).ok_or_else(endless)?;
    if files.is_empty() {
        return Err(LogError::NoMatch { kind, pattern: pattern.to_owned() });
    }
    Ok(files)
}

/// What is found within [`SEARCH_TIME`]; `None` if that is not all: a pattern may lead through all of
/// `/proc`, whose links have no end.
fn search(found: impl Iterator<Item = PathBuf> + Send + 'static) -> Option<Vec<PathBuf>> {
    let (give, all) = channel();
    // Nobody may wait for it any more.
    let work = move || _ = give.send(found.collect());
    thread::Builder::new().name("search".to_owned()).spawn(work).ok()?;
    all.recv_timeout(SEARCH_TIME).ok()
}

/// A line, or why there are no more.
#[derive(Debug)]
pub enum LogEvent<'a> {
    /// A line without its end.
    Line {
        /// Number of the line, from 1.
        number: u64,
        /// Its bytes, up to [`LINE_LIMIT`].
        bytes: &'a [u8],
        /// The line is longer.
        is_overlong: bool,
    },
    /// The rest cannot be read.
    Problem(ProblemKind),
}

/// A log, line by line.
#[derive(Debug)]
pub struct LogLines {
    stream: Stream,
    window: Vec<u8>,
    /// Start and end of the unread bytes in the window.
    start: usize,
    end: usize,
    number: u64,
    /// The current line has lost bytes beyond the limit.
    is_overlong: bool,
    is_at_end: bool,
    /// UTF-16, if the file begins with its mark.
    encoding: Option<Utf16>,
    /// Bytes of UTF-16 that wait for their other half.
    half: Vec<u8>,
}

impl LogLines {
    /// Opens a text file.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub fn open(kind: TextFile, path: &Path) -> Result<Self, LogError> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            let input = Input::from_reader(name.clone(), Box::new(io::stdin()));
            return Self::from_input(input).map_err(|source| LogError::Open {
                kind,
                file: name,
                source,
            });
        }
        let open = || {
            let file = File::open(path)?;
            let is_directory = file.metadata()?.is_dir();
            Ok((file, is_directory))
        };
        match open() {
            Ok((_, true)) => Err(LogError::Directory { kind, file: name }),
            Ok((file, false)) => {
                let input = Input::from_reader(name.clone(), Box::new(file));
                Self::from_input(input).map_err(|source| LogError::Open {
                    kind,
                    file: name,
                    source,
                })
            }
            Err(source) => Err(LogError::Open { kind, file: name, source }),
        }
    }

    fn from_input(input: Input) -> io::Result<Self> {
        let stream = Stream::open(input)?;
        let window = vec![0; WINDOW_BYTES];
        Ok(Self {
            stream,
            window,
            start: 0,
            end: 0,
            number: 0,
            is_overlong: false,
            is_at_end: false,
            encoding: None,
            half: Vec::new(),
        })
    }

    /// The next event; `None` at the end. A line is borrowed until the next call.
    pub fn next_event(&mut self) -> Option<LogEvent<'_>> {
        let mut searched = 0;
        loop {
            let at_hand = &self.window[self.start + searched..self.end];
            if let Some(at) = memchr(b'\n', at_hand) {
                return Some(self.line(searched + at, 1));
            }
            searched = self.end - self.start;
            if self.is_at_end {
                return (searched > 0).then(|| self.line(searched, 0));
            }
            if searched > LINE_LIMIT {
                // Bytes beyond the limit are dropped, until the line ends.
                self.end = self.start + LINE_LIMIT;
                self.is_overlong = true;
                searched = LINE_LIMIT;
            }
            if let Err(problem) = self.fill() {
                self.is_at_end = true;
                return Some(LogEvent::Problem(problem));
            }
        }
    }

    /// Bytes of the file read so far, as on disk.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.stream.progress()
    }

    /// Takes the next `len` bytes as a line, and skips its end.
    fn line(&mut self, len: usize, end_len: usize) -> LogEvent<'_> {
        let start = self.start;
        self.start += len + end_len;
        self.number += 1;
        let kept = len.min(LINE_LIMIT);
        let is_overlong = std::mem::take(&mut self.is_overlong) || kept < len;
        let bytes = &self.window[start..start + kept];
        LogEvent::Line { number: self.number, bytes, is_overlong }
    }

    /// Moves the unread bytes to the front and reads more after them.
    fn fill(&mut self) -> Result<(), ProblemKind> {
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let is_first = self.number == 0 && self.end == 0;
        if let Some(encoding) = self.encoding {
            return self.fill_decoded(encoding);
        }
        let count = self.stream.read(&mut self.window[self.end..])?;
        let read = &mut self.window[self.end..self.end + count];
        if let Some(encoding) = Utf16::of_mark(read).filter(|_| is_first) {
            self.encoding = Some(encoding);
            self.half = read.to_vec();
            return self.fill_decoded(encoding);
        }
        // Consoles and files that were cut leave NUL bytes in texts.
        if memchr(0, read).is_some() {
            read.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        }
        self.end += count;
        self.is_at_end = count == 0;
        Ok(())
    }

    /// Reads UTF-16 and appends it as UTF-8, which may be half as long again.
    fn fill_decoded(&mut self, encoding: Utf16) -> Result<(), ProblemKind> {
        let limit = (self.window.len() - self.end) / 2;
        let waiting = self.half.len();
        let mut is_read = false;
        if waiting < limit {
            self.half.resize(limit, 0);
            let count = self.stream.read(&mut self.half[waiting..])?;
            self.half.truncate(waiting + count);
            is_read = count == 0;
        }
        let part = &self.half[..self.half.len().min(limit)];
        let whole = if is_read { part.len() } else { encoding.whole(part) };
        let text = encoding.text(&part[..whole]);
        self.window[self.end..self.end + text.len()].copy_from_slice(text.as_bytes());
        self.end += text.len();
        self.half.drain(..whole);
        self.is_at_end = is_read;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, usize, bool)> {
        let input = Input::from_reader("log".to_owned(), Box::new(io::Cursor::new(bytes.to_vec())));
        let mut log = LogLines::from_input(input).unwrap();
        let mut lines = Vec::new();
        while let Some(event) = log.next_event() {
            let LogEvent::Line { number, bytes, is_overlong } = event else { panic!("{event:?}") };
            lines.push((number, bytes.len(), is_overlong));
        }
        lines
    }

    #[test]
    fn utf_16_is_read_as_utf_8() {
        let text = "mlx5_0 caf\u{e9}\n\u{1f600} last";
        for is_big in [false, true] {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            let order = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
            let bytes: Vec<u8> = units.flat_map(order).collect();
            assert_eq!(lines(&bytes), [(1, 12, false), (2, 9, false)], "{is_big}");
        }
        let mut long: Vec<u8> = vec![0xff, 0xfe];
        long.extend("\u{20ac}".repeat(WINDOW_BYTES).encode_utf16().flat_map(u16::to_le_bytes));
        assert_eq!(lines(&long), [(1, LINE_LIMIT, true)]);
        assert_eq!(lines(b"a\0\nb\n"), [(1, 2, false), (2, 1, false)]);
    }

    #[test]
    fn lines_are_limited() {
        assert_eq!(lines(b"a\n\nlast"), [(1, 1, false), (2, 0, false), (3, 4, false)]);
        assert_eq!(lines(b""), []);
        for len in [LINE_LIMIT, LINE_LIMIT + 1, WINDOW_BYTES, WINDOW_BYTES + 1, 5 * WINDOW_BYTES] {
            let mut bytes = vec![b'x'; len];
            bytes.extend(b"\nnext\n");
            let is_overlong = len > LINE_LIMIT;
            assert_eq!(lines(&bytes), [(1, LINE_LIMIT, is_overlong), (2, 4, false)], "{len}");
        }
    }
}
