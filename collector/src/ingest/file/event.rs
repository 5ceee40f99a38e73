//! Events of a set of capture files, in order.

use std::iter::Sum;

use super::problem::FileProblem;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;

/// An event of capture files.
#[derive(Clone, Debug)]
pub enum SourceEvent<'a> {
    /// A frame. Its tap was announced before.
    Frame(Frame<'a>),
    /// An observation point, before its first frame.
    Tap(TapId, Tap),
    /// The name of an address, from a file.
    HostName(HostName),
    /// Frames that the capturing host reports as lost (`epb_dropcount`, `isb_ifdrop`, `isb_osdrop`):
    /// those not yet reported, so that the sum over all events is the total.
    Lost {
        /// The tap that lost them.
        tap: TapId,
        /// How many.
        frames: u64,
    },
    /// The capture at a tap went on until then, as its statistics say (`isb_endtime`): what passed is in the file.
    ObservedUntil {
        /// The tap.
        tap: TapId,
        /// Not before its last frame.
        time: Timestamp,
    },
    /// A file, or a part of it, could not be read.
    Problem(FileProblem),
    /// A file was read to its end, or as far as possible.
    FileEnd(FileSummary),
}

/// Counters of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSummary {
    /// The file, as the user named it; `-` for standard input.
    pub file: String,
    /// Frames that were delivered.
    pub frames: u64,
    /// Frames in the file that were not delivered (no interface, or no valid time).
    pub dropped_frames: u64,
    /// Frames without a time (simple packet blocks), which got that of the frame before.
    pub untimed_frames: u64,
    /// Blocks other than frames that could not be understood.
    pub skipped_blocks: u64,
    /// Bytes read of the capture, after decompression.
    pub bytes: u64,
}

/// Progress in a set of files, in bytes on disk (compressed, if they are).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read so far.
    pub bytes_read: u64,
    /// Total bytes; `None` if an input has no known length (a pipe).
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
