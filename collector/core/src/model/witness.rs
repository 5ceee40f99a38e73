//! Where something was seen: the frame of a capture or the line of a log.

use super::tap::TapId;
use super::time::Timestamp;

/// Number of a log file in one run, in the order given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId(pub u32);

/// One frame or one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    /// A frame of a capture, or of live traffic.
    Frame {
        /// The tap that saw it.
        tap: TapId,
        /// Its number in its file, from 1, as in Wireshark.
        number: u64,
        /// When the tap saw it.
        time: Timestamp,
    },
    /// A line of a file of NIC counters.
    Sample {
        /// Number of the counter file, in the order given.
        file: u32,
        /// The line's number, from 1.
        number: u64,
        /// When the counters were read.
        time: Timestamp,
    },
    /// A line of a log.
    Line {
        /// The log that has it.
        log: LogId,
        /// Number of the line in the log, from 1.
        number: u64,
    },
}
