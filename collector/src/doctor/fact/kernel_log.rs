//! What the kernel has logged since boot, from `/dev/kmsg` (Documentation/ABI/testing/dev-kmsg).

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use crate::doctor::tree::{Known, Missing, Tree};

/// Most bytes of the log: the kernel keeps 128 KiB to 16 MiB.
const LIMIT: usize = 16 << 20;
/// Bytes of one read: it returns one record, which has 8 KiB at most.
const RECORD_SIZE: usize = 8 << 10;

/// The kernel's log.
#[derive(Clone, Debug, Default)]
pub struct KernelLog {
    /// Records, in order.
    pub records: Vec<Record>,
    /// Whether the first record since boot is among them: the kernel overwrites the oldest.
    pub is_whole: bool,
    /// How long the node is up.
    pub uptime: Duration,
}

/// A line of it.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its number since boot, from 0.
    pub number: u64,
    /// Time since boot.
    pub at: Duration,
    /// What it says.
    pub text: String,
}

impl KernelLog {
    pub(super) fn read(tree: &Tree) -> Known<Self> {
        let path = "/dev/kmsg";
        let failed = |error: &std::io::Error| Missing::of_error(path, error);
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let mut file = options.open(tree.path(path)).map_err(|error| failed(&error))?;
        let mut bytes = Vec::new();
        let mut record = [0; RECORD_SIZE];
        while bytes.len() < LIMIT {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(read) => bytes.extend_from_slice(record.get(..read).unwrap_or_default()),
                // The end of what is there.
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Records were overwritten while they were read: it goes on with the oldest.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let uptime = tree.text("/proc/uptime").unwrap_or_default();
        let seconds = uptime.split_whitespace().next().and_then(|word| word.parse().ok());
        let records: Vec<Record> = text.lines().filter_map(Record::of_line).collect();
        Ok(Self {
            is_whole: records.first().is_some_and(|first| first.number == 0),
            records,
            uptime: seconds
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or_default(),
        })
    }
}

impl Record {
    /// `6,339,5140900,-;NET: Registered PF_PACKET`: level, number, microseconds. Lines that go on begin with a space.
    fn of_line(line: &str) -> Option<Self> {
        let (head, text) = line.split_once(';')?;
        let mut fields = head.split(',').skip(1);
        let number = fields.next()?.parse().ok()?;
        let microseconds = fields.next()?.parse().ok()?;
        Some(Self { number, at: Duration::from_micros(microseconds), text: text.to_owned() })
    }
}
