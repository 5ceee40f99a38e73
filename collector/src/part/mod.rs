//! Parts: what captures of one host come down to, to be judged together with those of other hosts.
//!
//! A part holds what the lanes of its captures know at their ends, and the frames that must be seen in order of
//! time over all captures: TCP of the control plane, and sFlow. So the report from parts is the one from all
//! captures at once.
//!
//! ```text
//! "RAILPART", format (4 bytes) | zstd: records
//! record: length (8 bytes), then a `Record` as postcard has it
//! records: Head, then Items in order of time, then a Lane for each capture, then End
//! ```
//!
//! Numbers are little-endian. The state of a lane is that of one version of the program: no other one
//! reads it.

mod error;
mod frame;
mod read;
mod write;

pub use error::PartError;
pub use frame::OwnFrame;
pub use read::{Part, Parts, flag, is_part};
pub use write::PartWriter;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use railscope_core::model::tap::{HostName, Tap};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::lane::Lane;

/// First bytes of a part.
const MAGIC: &[u8; 8] = b"RAILPART";

/// Version of the records.
const FORMAT: u32 = 2;

/// What a part is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The program that wrote it.
    pub version: String,
    /// Its captures, as reports call them.
    pub captures: Vec<String>,
    /// Time of their earliest frame.
    pub origin: Option<Timestamp>,
    /// The options that shaped it, by name.
    pub options: BTreeMap<String, String>,
}

/// What is handed on in order of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Item {
    /// An observation point, before its first frame.
    Tap(Box<Tap>),
    /// The name of an address.
    HostName(HostName),
    /// A frame that all captures share.
    Frame(OwnFrame),
}

/// What was missed while captures were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Problems of files.
    pub problems: u64,
    /// Frames that could not be delivered.
    pub dropped_frames: u64,
    /// Frames without a time.
    pub untimed_frames: u64,
    /// Blocks that could not be understood.
    pub skipped_blocks: u64,
    /// Frames out of the time range.
    pub skipped_frames: u64,
}

/// When an item comes: the latest time of its capture, and that one's place among the others.
pub type Turn = (Timestamp, usize);

#[derive(Serialize, Deserialize)]
enum Record {
    Head(Head),
    Item(Turn, Item),
    Lane(Box<Lane>),
    End(Missed),
}
