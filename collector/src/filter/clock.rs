//! The clock of a tap, as a report states it.

use railscope_core::report::taps::TapReport;

/// A period in which the clock ran evenly.
struct Piece {
    /// Its start, by the clock itself; the first piece also holds before it.
    start_ns: i64,
    ahead_ns: i64,
    /// Change of the offset per nanosecond.
    drift: f64,
}

/// Turns the times of a tap's frames into those of the report.
pub(super) struct Clock {
    pieces: Vec<Piece>,
}

impl Clock {
    pub(super) fn new(tap: &TapReport) -> Self {
        let (Some(ahead_ns), Some(first_ns)) = (tap.clock_offset_ns, tap.first_ns) else {
            return Self { pieces: Vec::new() };
        };
        let drift = |ppb: i64| ppb as f64 / 1e9;
        let start_ns = first_ns.saturating_add(ahead_ns);
        let first = Piece { start_ns, ahead_ns, drift: drift(tap.clock_drift_ppb.unwrap_or(0)) };
        let mut pieces = vec![first];
        for jump in &tap.clock_jumps {
            let before = &pieces[pieces.len() - 1];
            // The clock shows `start` when the report's time is `at`:
            // start = at + ahead + drift * (start - before.start) + by.
            let since = jump.at_ns.saturating_add(before.ahead_ns).saturating_add(jump.by_ns);
            let since = since.saturating_sub(before.start_ns) as f64 / (1.0 - before.drift);
            let start_ns = before.start_ns.saturating_add(since as i64);
            let ahead_ns = start_ns.saturating_sub(jump.at_ns);
            pieces.push(Piece { start_ns, ahead_ns, drift: drift(jump.drift_ppb) });
        }
        Self { pieces }
    }

    /// The report's time when the clock shows `own_ns`; both in nanoseconds after the first frame of
    /// the input.
    pub(super) fn aligned_ns(&self, own_ns: i64) -> i64 {
        let after = self.pieces.partition_point(|piece| piece.start_ns <= own_ns);
        let Some(piece) = self.pieces.get(after.saturating_sub(1)) else { return own_ns };
        let gained = piece.drift * own_ns.saturating_sub(piece.start_ns) as f64;
        own_ns.saturating_sub(piece.ahead_ns).saturating_sub(gained as i64)
    }
}
