//! What a capture says of itself and of its interfaces.

use railscope_core::model::time::{Span, Timestamp};

/// Facts on a file; a file may have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// The operating system of the capturing host.
    pub system: Option<String>,
    /// The program that captured.
    pub application: Option<String>,
    /// Comments on the file, such as why it was saved.
    pub comments: Vec<String>,
}

/// What an interface has seen since the start of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// When it was counted.
    pub time: Timestamp,
    /// The time that the counts are of.
    pub span: Option<Span>,
    /// Frames that passed the interface, lost ones included.
    pub received: Option<u64>,
    /// Frames that were lost for a full buffer.
    pub lost: u64,
    /// Frames in the file.
    pub written: Option<u64>,
}
