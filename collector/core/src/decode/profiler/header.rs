//! The header of rings and files.

use super::{high, low, text, word};

/// First bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"RAILPROF");
/// Words of a file's header.
pub(super) const WORDS: usize = 16;

/// Whose records these are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The process, as it sees itself: another number outside its container.
    pub pid: u32,
    /// Nanoseconds of the monotonic clock when recording began.
    pub monotonic_ns: u64,
    /// Nanoseconds since 1970 at the same moment.
    pub realtime_ns: u64,
    /// Name of the host.
    pub host: String,
    /// Lanes of a ring, 0 in a file.
    pub lanes: u32,
    /// Words of a lane, 0 in a file.
    pub lane_words: u32,
    /// Words of a ring's header.
    pub(super) words: u32,
    /// Entries of a ring's table of communicators.
    pub(super) entries: u32,
    /// Words of an entry.
    pub(super) entry_words: u32,
}

/// Why bytes are no ring or file of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotProfiler {
    /// They do not begin like one.
    Magic,
    /// They are of a version that is not known.
    Version(u32),
    /// Too few bytes for a header.
    Short,
}

impl Header {
    /// Bytes of a header.
    pub const BYTES: usize = WORDS * 8;

    /// Whether a file that begins so is one of the plugin.
    pub fn is_start(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC.to_le_bytes())
    }

    /// Reads the first words.
    pub(super) fn decode(words: &[u64]) -> Result<Self, NotProfiler> {
        if word(words, 0) != MAGIC {
            return Err(NotProfiler::Magic);
        }
        if words.len() < WORDS {
            return Err(NotProfiler::Short);
        }
        let version = low(word(words, 1));
        if version != 1 {
            return Err(NotProfiler::Version(version));
        }
        Ok(Self {
            words: high(word(words, 1)),
            pid: low(word(words, 2)),
            monotonic_ns: word(words, 3),
            realtime_ns: word(words, 4),
            lanes: low(word(words, 5)),
            lane_words: high(word(words, 5)),
            entries: low(word(words, 6)),
            entry_words: high(word(words, 6)),
            host: text(words.get(8..WORDS).unwrap_or_default()),
        })
    }

    /// Whether it is a ring: a file has no lanes.
    pub const fn is_ring(&self) -> bool {
        self.lanes != 0
    }

    /// Nanoseconds since 1970 of a time of the monotonic clock.
    pub fn wall_ns(&self, monotonic_ns: u64) -> u64 {
        self.realtime_ns.wrapping_add(monotonic_ns.wrapping_sub(self.monotonic_ns))
    }
}
