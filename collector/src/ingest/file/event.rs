//! What a set of capture files tells, in the order it is met.

use std::iter::Sum;

use super::problem::FileProblem;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{HostName, Tap, TapId};

/// One thing that capture files tell.
#[derive(Clone, Debug)]
pub enum SourceEvent<'a> {
    /// A frame. Its tap was announced before.
    Frame(Frame<'a>),
    /// An observation point, before its first frame.
    Tap(TapId, Tap),
    /// A name that a file gives to an address.
    HostName(HostName),
    /// Frames that the capturing host says it lost (`epb_dropcount`, `isb_ifdrop`, `isb_osdrop`):
    /// those not yet told, so that the sum over all events is the total.
    Lost {
        /// Where they were lost.
        tap: TapId,
        /// How many.
        frames: u64,
    },
    /// Something is wrong with a file.
    Problem(FileProblem),
    /// A file was read to its end, or to where it could not be read further.
    FileEnd(FileSummary),
}

/// What was read of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// The file, as the user named it; `-` for standard input.
    pub file: String,
    /// Frames that were delivered.
    pub frames: u64,
    /// Frames that were there but were not delivered (no interface, no possible time).
    pub dropped_frames: u64,
    /// Frames that had no time (simple packet blocks) and got that of the frame before.
    pub untimed_frames: u64,
    /// Blocks other than frames that could not be understood.
    pub skipped_blocks: u64,
    /// Bytes of the capture up to where reading ended, after decompression.
    pub bytes: u64,
}

/// How far a set of files was read, in bytes as they lie on disk (compressed where they are).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub bytes_read: u64,
    /// Bytes there are; `None` when one of the inputs does not know (a pipe).
    pub bytes_total: Option<u64>,
}

impl Sum for Progress {
    fn sum<I: Iterator<Item = Self>>(files: I) -> Self {
        let nothing = Self { bytes_read: 0, bytes_total: Some(0) };
        files.fold(nothing, |sum, file| Self {
            bytes_read: sum.bytes_read + file.bytes_read,
            bytes_total: sum.bytes_total.zip(file.bytes_total).map(|(a, b)| a + b),
        })
    }
}
