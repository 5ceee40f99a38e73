//! Why a set of capture files cannot be opened.

use std::io;

use super::foreign::Foreign;
use super::problem::ProblemKind;

/// A file that cannot be opened as a capture. Problems after a valid start are not errors.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The file is missing, or may not be read.
    #[error("open capture {file}")]
    Open {
        /// The file, as the user named it.
        file: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A directory was named.
    #[error("open capture {file}: it is a directory; name the files in it")]
    Directory {
        /// The directory, as the user named it.
        file: String,
    },
    /// Standard input was named more than once.
    #[error("open capture -: standard input can be read only once")]
    StdinTwice,
    /// The file holds no byte, or no byte after decompression.
    #[error("open capture {file}: the file is empty; check that what writes it has begun to write")]
    Empty {
        /// The file, as the user named it.
        file: String,
    },
    /// The file does not start like a readable capture.
    #[error("open capture {file}: not a pcap or pcapng file; {looks_like}")]
    Foreign {
        /// The file, as the user named it.
        file: String,
        /// What it looks like, and what to do.
        looks_like: Foreign,
    },
    /// The file starts like a capture, but its first header is truncated or damaged.
    #[error("open capture {file}: {problem}, at byte {offset}; no frame can be read")]
    Header {
        /// The file, as the user named it.
        file: String,
        /// Where the header starts, in the uncompressed stream.
        offset: u64,
        /// What is wrong with it.
        problem: ProblemKind,
    },
}
