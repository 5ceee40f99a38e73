//! What a rank reports while it works: progress, durations of collectives, what really happened.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Result;
use super::truth::Record;

/// Receives a rank's reports. Calls come between collectives, never inside one, so they may take
/// some time.
pub trait RankReport {
    /// `done` of `total` collectives are complete, warm-up included.
    ///
    /// # Errors
    /// The receiver has gone: end the job.
    fn progress(&mut self, done: u64, total: u64) -> Result<()>;

    /// Measured collectives are complete, or their results were checked. Calls for one row and
    /// placement add up: a sweep calls once for its `iterations` and once for the check, a training
    /// job after each bucket.
    ///
    /// # Errors
    /// As [`RankReport::progress`].
    fn measured(&mut self, measure: &Measure) -> Result<()>;

    /// A measured training step is complete.
    ///
    /// # Errors
    /// As [`RankReport::progress`].
    fn iteration(&mut self, iteration: &IterationTime) -> Result<()>;

    /// What truly happened. The first record is the job, the second the rank itself; the table's
    /// header shows them even without a truth file.
    ///
    /// # Errors
    /// As [`RankReport::progress`], or the truth file cannot be written.
    fn record(&mut self, record: &Record) -> Result<()>;

    /// Ends the report. Returns once it has arrived; at rank 0, once all ranks have reported,
    /// because the store must stay until then.
    ///
    /// # Errors
    /// As [`RankReport::progress`], or a rank does not report in time.
    fn finish(&mut self) -> Result<()>;
}

/// Duration of one rank's collectives of one kind and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// Line of the table, from 0: place in [`Shape::Sweep`]'s sizes or [`Shape::Training`]'s buckets.
    ///
    /// [`Shape::Sweep`]: super::job::Shape::Sweep
    /// [`Shape::Training`]: super::job::Shape::Training
    pub row: usize,
    /// Which half of the row.
    pub placement: Placement,
    /// Number of collectives; 0 for a check alone.
    pub collectives: u32,
    /// Their total duration.
    pub time: Duration,
    /// Wrong elements; `None` if not checked.
    pub wrong: Option<u64>,
}

/// Whether a collective writes where it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Two buffers.
    OutOfPlace,
    /// One buffer.
    InPlace,
}

/// Duration of one rank's training step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationTime {
    /// Number from 0, warm-up excluded.
    pub iteration: u32,
    /// Time the rank computed.
    pub compute: Duration,
    /// From the start of computing until the last bucket was reduced.
    pub total: Duration,
}
