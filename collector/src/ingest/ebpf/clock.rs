//! Converts the clock of kernel programs to wall-clock time.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use railscope_core::model::time::Timestamp;

/// Offsets that differ by less are the same: the difference is the time that reading two clocks takes.
const JITTER_NS: i64 = 10_000;

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC`, which changes when the clock is set.
#[derive(Debug)]
pub(in crate::ingest) struct Clock {
    offset_ns: i64,
}

impl Clock {
    pub(in crate::ingest) fn new() -> Self {
        let mut clock = Self { offset_ns: i64::MIN };
        clock.look();
        clock
    }

    /// Reads both clocks.
    pub(in crate::ingest) fn look(&mut self) {
        let monotonic = read(ClockId::CLOCK_MONOTONIC) as i64;
        let offset_ns = read(ClockId::CLOCK_REALTIME) as i64 - monotonic;
        if offset_ns.abs_diff(self.offset_ns) > JITTER_NS.unsigned_abs() {
            self.offset_ns = offset_ns;
        }
    }

    /// A time of a kernel program.
    pub(in crate::ingest) const fn timestamp(&self, monotonic_ns: u64) -> Timestamp {
        Timestamp::from_nanos(monotonic_ns.saturating_add_signed(self.offset_ns))
    }
}

/// Nanoseconds of a clock that every Linux has.
fn read(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |time| Duration::from(time).as_nanos() as u64)
}
