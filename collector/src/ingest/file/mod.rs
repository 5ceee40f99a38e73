//! Capture files: pcap and pcapng, plain or compressed, one or many, as one stream of events.
//!
//! ```text
//! path, stdin -> Input -> Stream (gzip, zstd) -> Buffer -> PcapReader | PcapNgReader -+
//!                \________________ CaptureFile, one for each file ____________________/
//!                                        | | |   k-way merge by time
//!                                     CaptureSet -> SourceEvent
//! ```
//!
//! What is compressed has a thread that decompresses it ahead.
//!
//! Files are merged by their own timestamps, without clock correction; within a file the order stays.
//! Time ranges use the same timestamps.
//!
//! [`apart`] reads them on several threads instead, and [`by_tap`] one file of several taps.
//!
//! Memory depends on the number of files and interfaces, never on the number of frames. A file with a
//! valid start never makes the run fail: a later error is a [`FileProblem`], and the other files are
//! read on.
//!
//! [`FileProblem`]: problem::FileProblem

pub mod compression;
pub mod apart;
pub mod by_tap;
pub mod error;
pub mod event;
pub mod problem;

mod ahead;
mod buffer;
mod byte_order;
mod capture;
mod clock;
pub(crate) mod encoding;
mod foreign;
pub(super) mod input;
mod notices;
mod pcap;
mod pcapng;
mod record;
pub(super) mod stream;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::Path;
use std::thread;

use capture::{CaptureFile, Polled};
use error::IngestError;
use event::{Progress, SourceEvent};
use input::Input;
use notices::Notices;
use railscope_core::model::time::Timestamp;

/// Most files of a set of which each may have a thread that decompresses it.
const AHEAD_LIMIT: usize = 64;

/// Most events before the first frame of a file that is read apart.
const FIRST_NOTICES: usize = 1 << 17;

/// Several capture files as one stream in time order.
///
/// Each interface of each file is a separate tap. Frames of one file keep that file's order; between
/// files the earlier frame goes first, and at equal times that of the file named first.
///
/// ```no_run
/// use railscope::ingest::file::{CaptureSet, event::SourceEvent};
///
/// let mut captures = CaptureSet::open(&["rank0.pcapng", "rank1.pcap.gz"])?;
/// let mut wire_bytes = 0;
/// while let Some(event) = captures.next_event() {
///     if let SourceEvent::Frame(frame) = event {
///         wire_bytes += u64::from(frame.wire_len);
///     }
/// }
/// # Ok::<(), railscope::ingest::file::error::IngestError>(())
/// ```
#[derive(Debug)]
pub struct CaptureSet {
    files: Vec<CaptureFile>,
    /// Index of the file that is being read; past the end when all have ended.
    current: usize,
    /// The other open files, by the time of their next frame. An unread file is at the epoch, so that every
    /// file has its first frame read before any frame is delivered.
    waiting: BinaryHeap<Reverse<(Timestamp, usize)>>,
    notices: Notices,
}

impl CaptureSet {
    /// Opens capture files and reads their headers; `-` is standard input.
    ///
    /// # Errors
    ///
    /// When a file cannot be opened or is not a capture.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, IngestError> {
        let name = |path: &P| path.as_ref().display().to_string();
        let named: Vec<_> = paths.iter().map(|path| (path.as_ref(), name(path))).collect();
        Self::open_named(&named)
    }

    /// Opens capture files that events and errors call by other names than their paths.
    ///
    /// # Errors
    ///
    /// See [`Self::open`].
    pub fn open_named(paths: &[(&Path, String)]) -> Result<Self, IngestError> {
        if paths.iter().filter(|(path, _)| input::is_stdin(path)).count() > 1 {
            return Err(IngestError::StdinTwice);
        }
        let is_ahead = has_cores() && paths.len() <= AHEAD_LIMIT;
        let files = paths
            .iter()
            .map(|(path, name)| CaptureFile::open(Input::open(path, name.clone())?, is_ahead))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self::from_files(files))
    }

    /// Reads one capture from `reader`; events and errors call it `name`.
    ///
    /// # Errors
    ///
    /// When it is not a capture.
    pub fn from_reader(
        name: impl Into<String>,
        reader: impl Read + Send + 'static,
    ) -> Result<Self, IngestError> {
        let input = Input::from_reader(name.into(), Box::new(reader));
        Ok(Self::from_files(vec![CaptureFile::open(input, has_cores())?]))
    }

    fn from_files(files: Vec<CaptureFile>) -> Self {
        let waiting = (1..files.len()).map(|file| Reverse((Timestamp::EPOCH, file))).collect();
        Self { files, current: 0, waiting, notices: Notices::new(notices::TAPS_LIMIT) }
    }

    /// Each file as a set of its own, with taps of its own.
    fn split(self) -> Vec<Self> {
        let limit = notices::TAPS_LIMIT / self.files.len().max(1);
        let set = |file| Self { notices: Notices::new(limit), ..Self::from_files(vec![file]) };
        self.files.into_iter().map(set).collect()
    }

    /// A set of one file that is not compressed and can be read again, from its start on; else `None`.
    fn again(&self) -> Option<Self> {
        match self.files.as_slice() {
            [file] => Some(Self::from_files(vec![file.again()?])),
            _ => None,
        }
    }

    /// The time of the first frame; `None` if there is none, or too much before it. Of a set of one file of
    /// which no event was taken.
    fn read_first(&mut self) -> Option<Timestamp> {
        let file = self.files.first_mut()?;
        while self.notices.len() < FIRST_NOTICES {
            match file.poll(&mut self.notices) {
                Polled::Frame => {
                    file.is_held = true;
                    return Some(file.time());
                }
                Polled::Other => {}
                Polled::End => {
                    self.current = self.files.len();
                    break;
                }
            }
        }
        None
    }

    /// The events up to the frame that [`Self::read_first`] found, and that one.
    fn first_event(&mut self) -> Option<SourceEvent<'_>> {
        if let Some(notice) = self.notices.take() {
            return Some(notice);
        }
        let file = self.files.first_mut()?;
        std::mem::take(&mut file.is_held).then(|| SourceEvent::Frame(file.frame()))
    }

    /// How many files there are.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// The next event; `None` when every file was read to its end. A frame's bytes are borrowed until
    /// the next call.
    // Cost: in one piece with the loop around it, and the readers in it, 5 % of a whole `analyze`.
    #[inline(always)]
    pub fn next_event(&mut self) -> Option<SourceEvent<'_>> {
        loop {
            if let Some(event) = self.notices.take() {
                return Some(event);
            }
            let file = self.files.get_mut(self.current)?;
            match file.poll(&mut self.notices) {
                Polled::Frame => {
                    let Some(mut first) = self.waiting.peek_mut() else { break };
                    let here = Reverse((file.time(), self.current));
                    if here > *first {
                        break;
                    }
                    // Another file is earlier: this one keeps its frame for later.
                    let Reverse((_, earlier)) = std::mem::replace(&mut *first, here);
                    file.is_held = true;
                    self.current = earlier;
                }
                Polled::Other => continue,
                Polled::End => match self.waiting.pop() {
                    Some(Reverse((_, earliest))) => self.current = earliest,
                    None => self.current = self.files.len(),
                },
            }
            // Only a change of file comes here; a frame that was held is the earliest of all.
            let next = self.files.get_mut(self.current);
            if next.is_some_and(|file| std::mem::take(&mut file.is_held)) {
                break;
            }
        }
        Some(SourceEvent::Frame(self.files[self.current].frame()))
    }

    /// Progress in the files, in bytes on disk.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.files.iter().map(CaptureFile::progress).sum()
    }
}

/// Whether another thread could run beside this one.
fn has_cores() -> bool {
    thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_may_be_read_on_another_thread() {
        fn assert_send<T: Send>() {}
        assert_send::<CaptureSet>();
    }
}
