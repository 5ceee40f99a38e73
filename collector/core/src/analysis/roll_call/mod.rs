//! Who has called what, by what processes recorded themselves: dumps of PyTorch's flight recorder, and
//! answers of NCCL's RAS.
//!
//! A rank that waits in a call itself is not the one that the others wait for.

pub mod fit;
pub mod flight;
pub mod presence;
pub mod ras;

use std::collections::BTreeSet;

use self::fit::Misfit;
use self::flight::Roll;
use self::ras::RasRoll;
use crate::decode::flight_recorder::Dump;
use crate::decode::ras::RasStatus;
use crate::model::time::Timestamp;

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub struct RollCall {
    /// Dumps, one a rank.
    pub dumps: Vec<RankDump>,
    /// Answers of RAS, in the order given, with the name of their file.
    pub statuses: Vec<(String, RasStatus)>,
    /// What was given and is not used.
    pub unused: Vec<Unused>,
}

/// A record that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The name of its file.
    pub file: String,
    /// What it is: `flight_recorder`, `ras`, `profiler`.
    pub source: &'static str,
    /// The rank of a dump.
    pub rank: Option<u32>,
    /// Why.
    pub why: WhyUnused,
}

/// Why a record is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyUnused {
    /// It could not be read, and this is why.
    Unread(String),
    /// It is of another job, or of another time.
    Misfit(Misfit),
}

/// The dump of a rank.
#[derive(Clone, Debug)]
pub struct RankDump {
    /// The name of its file.
    pub file: String,
    /// The rank in the job.
    pub rank: u32,
    /// When it was written, by the file system.
    pub written: Option<Timestamp>,
    /// What it says.
    pub dump: Dump,
}

/// What the records show together.
#[derive(Clone, Debug, Default)]
pub struct Rolls {
    /// By dumps, one for each group in which ranks wait.
    pub flight: Vec<Roll>,
    /// By answers of RAS.
    pub ras: Vec<RasRoll>,
}

impl RollCall {
    /// Compares the records.
    #[must_use]
    pub fn rolls(&self) -> Rolls {
        let is_unread = |one: &&Unused| matches!(one.why, WhyUnused::Unread(_));
        let unread: BTreeSet<u32> =
            self.unused.iter().filter(is_unread).filter_map(|one| one.rank).collect();
        Rolls { flight: flight::rolls(&self.dumps, &unread), ras: ras::rolls(&self.statuses) }
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dumps.is_empty() && self.statuses.is_empty()
    }
}
