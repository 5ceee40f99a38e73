//! Problems of capture files, and their consequences.

use std::fmt;

use super::compression::Compression;

/// A problem in a file, its position, and how much was read before. Each kind after which reading
/// continues is reported once per file; the [`FileSummary`](super::event::FileSummary) counts them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// The file, as the user named it; `-` for standard input.
    pub file: String,
    /// How the file is compressed.
    pub compression: Compression,
    /// Start of the record or block, in bytes of the uncompressed stream.
    pub offset: u64,
    /// What is wrong.
    pub kind: ProblemKind,
    /// Frames of this file that were delivered before.
    pub frames_read: u64,
}

/// What is wrong with a file, or with a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The file ends in the middle of a record, a block or the header.
    Cut {
        /// Bytes of it that are there.
        have: u64,
        /// Bytes it should have, as far as is known.
        need: u64,
    },
    /// The compressed stream is truncated.
    CompressedCut(Compression),
    /// The compressed stream is damaged.
    CompressedDamaged(Compression, String),
    /// A read failed.
    Unreadable(String),
    /// The version of the file format is not supported.
    Version {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// A record is longer than in any capture: the record header is damaged.
    RecordLength {
        /// Length from the record header.
        captured_len: u32,
        /// Largest accepted length.
        limit: u32,
    },
    /// A block's length is invalid: too small, too large or not a multiple of four.
    BlockLength(u32),
    /// A block's length differs from the one that is repeated at its end.
    BlockEnd {
        /// Length at the start of the block.
        start: u32,
        /// Length at its end.
        end: u32,
    },
    /// A section has no valid byte-order magic, so no number can be read.
    ByteOrder,
    /// A block's content contradicts its length.
    Block {
        /// The block's type number.
        block_type: u32,
    },
    /// A frame is longer than its block.
    FrameLength,
    /// A frame names an interface that was not described.
    Interface(u32),
    /// Statistics name an interface that was not described.
    StatisticsInterface(u32),
    /// A section describes more interfaces than the limit.
    Interfaces(usize),
    /// The files describe more interfaces in all than the limit.
    Taps(usize),
    /// A time before 1970 or after 2554.
    TimeRange,
}

/// Consequence of a problem for the reading of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing after it is read.
    FileEnds,
    /// Only this frame is missing from the report.
    FrameDropped,
    /// One block other than a frame is skipped.
    BlockSkipped,
}

impl ProblemKind {
    /// The consequence for the rest of the file.
    #[must_use]
    pub const fn consequence(&self) -> Consequence {
        match self {
            Self::Cut { .. }
            | Self::CompressedCut(_)
            | Self::CompressedDamaged(..)
            | Self::Unreadable(_)
            | Self::Version { .. }
            | Self::RecordLength { .. }
            | Self::BlockLength(_)
            | Self::BlockEnd { .. }
            | Self::ByteOrder => Consequence::FileEnds,
            Self::FrameLength | Self::Interface(_) | Self::TimeRange => Consequence::FrameDropped,
            Self::Block { .. }
            | Self::StatisticsInterface(_)
            | Self::Interfaces(_)
            | Self::Taps(_) => Consequence::BlockSkipped,
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capture {}: {}, at byte {}", self.file, self.kind, self.offset)?;
        if self.compression != Compression::None {
            write!(f, " of the uncompressed stream")?;
        }
        match self.kind.consequence() {
            Consequence::FileEnds if self.frames_read == 1 => {
                write!(f, "; 1 frame before it was read")
            }
            Consequence::FileEnds => {
                write!(f, "; the {} frames before it were read", self.frames_read)
            }
            Consequence::FrameDropped => write!(f, "; such frames are dropped and counted"),
            Consequence::BlockSkipped => write!(f, "; such blocks are skipped and counted"),
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut { have, need } => {
                write!(f, "the file ends after {have} of {need} bytes of a record")
            }
            Self::CompressedCut(compression) => write!(f, "the {compression} stream is truncated"),
            Self::CompressedDamaged(compression, reason) => {
                write!(f, "the {compression} stream is damaged ({reason})")
            }
            Self::Unreadable(reason) => write!(f, "reading failed ({reason})"),
            Self::Version { major, minor } => {
                write!(f, "format version {major}.{minor} is not supported")
            }
            Self::RecordLength { captured_len, limit } => {
                write!(f, "damaged record: a length of {captured_len} bytes (limit {limit})")
            }
            Self::BlockLength(length) => write!(f, "damaged block: a length of {length} bytes"),
            Self::BlockEnd { start, end } => {
                write!(
                    f,
                    "damaged block: a length of {start} bytes at its start and {end} at its end"
                )
            }
            Self::ByteOrder => write!(f, "a section has no valid byte-order magic"),
            Self::Block { block_type } => {
                write!(f, "damaged block of type {block_type:#x}")
            }
            Self::FrameLength => write!(f, "a frame is longer than its block"),
            Self::Interface(id) => write!(f, "a frame of interface {id}, which has no description"),
            Self::StatisticsInterface(id) => {
                write!(f, "statistics of interface {id}, which has no description")
            }
            Self::Interfaces(limit) => write!(f, "more than {limit} interfaces in a section"),
            Self::Taps(limit) => write!(f, "more than {limit} interfaces in all"),
            Self::TimeRange => write!(f, "a frame's time is before 1970 or after 2554"),
        }
    }
}
