//! What a rank tells while it works: how far it is, how long collectives took, what truly happened.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Result;
use super::truth::Record;

/// Where a rank tells it. Calls come between collectives, never inside one: they may take some
/// time.
pub trait RankReport {
    /// `done` of `total` collectives have ended, warm-up included.
    ///
    /// # Errors
    /// Nobody listens any more: end.
    fn progress(&mut self, done: u64, total: u64) -> Result<()>;

    /// Counted collectives have ended, or their results were compared. Calls for one row and
    /// placement add up: a sweep calls once for its `iterations` and once for what it compares, a
    /// training job after each bucket.
    ///
    /// # Errors
    /// As [`RankReport::progress`].
    fn measured(&mut self, measure: &Measure) -> Result<()>;

    /// A counted training step has ended.
    ///
    /// # Errors
    /// As [`RankReport::progress`].
    fn iteration(&mut self, iteration: &IterationTime) -> Result<()>;

    /// What truly happened. The first record is the job, the second the rank itself: the table's
    /// header shows them, also where nobody asked for a truth file.
    ///
    /// # Errors
    /// As [`RankReport::progress`]; the truth file cannot be written.
    fn record(&mut self, record: &Record) -> Result<()>;

    /// All is said. Returns once what was said has arrived, at rank 0 once all ranks were heard:
    /// the store must stay until then.
    ///
    /// # Errors
    /// As [`RankReport::progress`]; a rank is not heard of in time.
    fn finish(&mut self) -> Result<()>;
}

/// How long one rank's collectives of one kind and size took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// Line of the table, from 0: place in [`Shape::Sweep`]'s sizes or [`Shape::Training`]'s buckets.
    ///
    /// [`Shape::Sweep`]: super::job::Shape::Sweep
    /// [`Shape::Training`]: super::job::Shape::Training
    pub row: usize,
    /// Which half of the line.
    pub placement: Placement,
    /// How many collectives; 0 where this only tells of a comparison.
    pub collectives: u32,
    /// All of them together.
    pub time: Duration,
    /// Elements that were not what they must be; `None`: not compared.
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

/// How long one rank's training step took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationTime {
    /// From 0, warm-up not counted.
    pub iteration: u32,
    /// Of it: the rank computed.
    pub compute: Duration,
    /// From the beginning of the computation until the last bucket was reduced.
    pub total: Duration,
}
