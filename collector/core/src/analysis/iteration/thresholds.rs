//! Every threshold and weight by which training steps are found, labelled and judged.
//!
//! Shares are parts of 1. Where no source is named, a value was set on recorded jobs and generated
//! sequences, which `cargo xtask score` and the suite compare with the truth.

use std::ops::RangeInclusive;

// What repeats (`repeat.rs`).

/// Most calls of a training step; a longer step is not found. Large models with a call per
/// gradient bucket and layer have hundreds.
pub(super) const LONGEST_UNIT: usize = 2048;
/// Most comparisons of calls: about a second. A long sequence is searched for short units only.
pub(super) const CALL_COMPARISONS: usize = 1 << 28;

// Which repetition is the training step (`unit.rs`).

/// Share of a communicator's calls that the unit has to explain: evaluation and warm-up may take
/// the rest.
pub(super) const EXPLAINED_SHARE: f64 = 0.4;
/// The same for a unit whose calls are all equal. Higher, because any benchmark repeats one call.
pub(super) const EXPLAINED_SHARE_OF_EQUALS: f64 = 0.6;
/// Fewest repeats of a unit; fewer may be chance.
pub(super) const REPEATS: usize = 3;
/// Two repeats are enough for a unit of at least this many calls: that many do not recur by chance.
pub(super) const CALLS_FOR_TWO_REPEATS: usize = 4;
/// Silence (compute) before each unit of equal calls, as a share of its length: a benchmark calls
/// back to back.
pub(super) const SILENCE_OF_EQUALS: f64 = 0.2;
/// A longer unit may explain less than the unit within it, down to this share: it loses the pieces at
/// both ends.
pub(super) const NEARLY: f64 = 0.9;
/// Repeats in a row that distinguish training steps from gradient buckets and layers.
pub(super) const MANY: usize = 5;
/// Smallest silence before each training step within a longer unit, as a share of that unit's.
pub(super) const ALIKE_SILENCE: f64 = 0.4;
/// The silence that ends a group of equal calls is this many times the usual one ...
pub(super) const GROUP_SILENCE: u64 = 3;
/// ... which counts as at least one in this many parts of a call's length.
pub(super) const SHORTEST_SILENCE_PARTS: u64 = 10;
/// Tenths of these groups that must have the same number of calls.
pub(super) const EQUAL_GROUP_TENTHS: usize = 7;

// Where a training step begins (`rotation.rs`): votes are added up.

/// The longest silence is clear if it is this many times the second longest.
pub(super) const CLEAR_RATIO: f64 = 1.5;
/// Votes of a clear longest silence: as much as two whole stretches.
pub(super) const CLEAR_SILENCE_VOTES: f64 = 2.0;
/// Votes of one that is not clear: less than a whole stretch.
pub(super) const SILENCE_VOTES: f64 = 0.75;
/// Votes of a stretch that begins with the communicator, or begins or ends between other calls.
pub(super) const STRETCH_VOTES: f64 = 1.0;
/// Most votes of all such stretches: what cuts one may cut all.
pub(super) const STRETCH_VOTES_AT_MOST: f64 = 3.0;
/// Votes of the end of the capture: it may cut a training step, but jobs end, too.
pub(super) const END_VOTES: f64 = 0.5;

// Incomplete training steps (`cut.rs`).

/// Share of the unit's calls that a damaged training step still has.
pub(super) const REMAINING_SHARE: f64 = 0.5;
/// Longest damaged training step, in units; anything longer is something else.
pub(super) const LONGEST_IN_UNITS: usize = 4;
/// A damaged training step begins after at least one in this many parts of the usual silence.
pub(super) const START_SILENCE_PARTS: u64 = 2;

// Several communicators (`signature.rs`, `mod.rs`).

/// Training steps of two communicators are equally long if the shorter is at least this share of
/// the longer.
pub(super) const EQUALLY_LONG: f64 = 0.8;
/// A silence of more than this many median training steps (plus the usual silence) is a pause
/// between two of them, such as a checkpoint, and part of none.
pub(super) const PAUSE_LENGTHS: u64 = 2;
/// Other communicators' collectives belong to the last training step before a pause while silences
/// are at most one in this many parts of the usual.
pub(super) const TRAILING_SILENCE_PARTS: u64 = 2;

// Load without readable calls (`load.rs`).

/// Fewest bursts that form a rhythm.
pub(super) const FEWEST_BURSTS: usize = 5;
/// The shortest silence between bursts is this many times the longest within.
pub(super) const SILENCE_JUMP: f64 = 3.0;
/// Shortest silence between bursts, in nanoseconds: less than any training step's compute.
pub(super) const SHORTEST_BURST_SILENCE_NS: u64 = 1_000_000;
/// Silences below one in this many parts of that are equal: their ratio says nothing.
pub(super) const NO_SILENCE_PARTS: u64 = 10;
/// Largest standard deviation over mean of the times between bursts (as in sFlow-RT).
pub(super) const VARIATION: f64 = 0.5;
/// Share of the bursts that carry about the same ...
pub(super) const ALIKE_BURSTS: f64 = 0.8;
/// ... number of messages: within this factor of the median.
pub(super) const ALIKE_FACTOR: u64 = 2;
/// The rhythm of load is used only if at most one call in this many can be read: readable calls
/// that do not repeat are not training.
pub(super) const READABLE_ONE_IN: usize = 2;

// Figures (`figures.rs`).

/// Width in nanoseconds of the windows for the peak rate: a millisecond, about what a switch port can
/// buffer.
pub(super) const PEAK_WINDOW_NS: u64 = 1_000_000;
/// A message that takes longer than this many nanoseconds does not show the rate within a window;
/// also limits the windows that one message fills.
pub(super) const LONGEST_MESSAGE_NS: u64 = 10_000_000_000;

// Which stand out (`pace.rs`).

/// A training step stands out if it exceeds the median by more than 1/`PARTS_OF_MEDIAN` of it, the same
/// share as for a straggler ...
pub(super) const PARTS_OF_MEDIAN: u64 = 20;
/// ... and by more than this many median absolute deviations: in a job with jitter, not every step
/// stands out.
pub(super) const DEVIATIONS: u64 = 5;
/// Fewer training steps than this have no usual length.
pub(super) const FEWEST_FOR_MEDIAN: usize = 3;

// Labels (`label.rs`, `numbering.rs`, `train_log.rs`).

/// Share of a log's lines that have to agree on the difference between its count and the capture's.
pub(super) const AGREEING_LINES: f64 = 0.8;
/// Lengths in a log and in the capture are equal if they differ by at most this share on average.
pub(super) const EQUAL_LENGTHS: f64 = 0.05;
/// Any other difference must fit this many times worse.
pub(super) const CLEARLY_WORSE: f64 = 2.0;
/// Fewest lengths that are compared.
pub(super) const FEWEST_LENGTHS: usize = 4;
/// Nanoseconds of a quarter of an hour, by which time zones differ (IANA) ...
pub(super) const QUARTER_NS: i64 = 900_000_000_000;
/// ... from 12 h west to 14 h east.
pub(super) const QUARTERS: RangeInclusive<i64> = -48..=56;
/// The line about the last training step is written at most one in this many parts of the median
/// length after its last packet.
pub(super) const LAST_LINE_PARTS: u64 = 2;
/// Most comparisons of lengths: with long logs and captures, only the first differences are tried.
pub(super) const LENGTH_COMPARISONS: usize = 1 << 26;
/// In a later analysis, a training step may begin earlier or later by one in this many parts of its
/// length: clocks are known better the longer they are compared.
pub(super) const SAME_START_PARTS: u64 = 4;
/// Lines kept of each training log; a job that logs every training step fills them in days.
pub(super) const LOG_LINES: usize = 1 << 18;
