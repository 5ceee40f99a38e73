//! Messages from ranks to the process that shows them: JSON, one per line, or several in a value of
//! the store.

use std::io;

use serde::{Deserialize, Serialize};

use crate::report::{IterationTime, Measure, RankReport};
use crate::truth::Record;
use crate::{DriveError, Result};

/// One message of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// See [`RankReport::progress`].
    Progress {
        /// Completed collectives.
        done: u64,
        /// Collectives of the job.
        total: u64,
    },
    /// See [`RankReport::measured`].
    Measured(Measure),
    /// See [`RankReport::iteration`].
    Iteration(IterationTime),
    /// See [`RankReport::record`].
    Record(Box<Record>),
    /// The rank failed.
    Failed(Failure),
    /// The rank succeeded.
    Finished,
}

/// Why a rank failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The error message.
    pub text: String,
    /// Whether another rank may have caused it.
    pub is_consequence: bool,
}

impl From<&DriveError> for Failure {
    fn from(error: &DriveError) -> Self {
        let is_consequence = matches!(error, DriveError::PeerLost { .. } | DriveError::Late { .. });
        let mut text = error.to_string();
        if let DriveError::Io { cause, .. } = error
            && cause.kind() == io::ErrorKind::AddrInUse
        {
            text += " (`ss -tulpn` shows who has the port; MASTER_PORT moves the store)";
        }
        Self { text, is_consequence }
    }
}

/// Where messages go.
pub trait Outlet {
    /// Sends one.
    ///
    /// # Errors
    /// The receiver has gone.
    fn send(&mut self, message: &Message) -> Result<()>;

    /// Returns once all messages have arrived.
    ///
    /// # Errors
    /// As [`Outlet::send`].
    fn finish(&mut self) -> Result<()>;
}

/// Which records a rank sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Those that the table's header shows.
    Introduction,
    /// Also when it computed and called collectives.
    Calls,
    /// All, for a truth file.
    Truth,
}

impl Detail {
    fn includes(self, record: &Record) -> bool {
        match self {
            Self::Introduction => record.is_introduction(),
            Self::Calls => {
                record.is_introduction() || matches!(record, Record::Compute(_) | Record::Call(_))
            }
            Self::Truth => true,
        }
    }
}

/// A rank's report, as messages.
#[derive(Debug)]
pub struct Reporter<O> {
    outlet: O,
    detail: Detail,
}

impl<O: Outlet> Reporter<O> {
    /// Reports through `outlet`.
    pub fn new(outlet: O, detail: Detail) -> Self {
        Self { outlet, detail }
    }

    /// Where it reports.
    pub fn into_outlet(self) -> O {
        self.outlet
    }

    /// Reports a failure.
    ///
    /// # Errors
    /// The receiver has gone.
    pub fn failed(&mut self, error: &DriveError) -> Result<()> {
        self.outlet.send(&Message::Failed(error.into()))?;
        self.outlet.finish()
    }
}

impl<O: Outlet> RankReport for Reporter<O> {
    fn progress(&mut self, done: u64, total: u64) -> Result<()> {
        self.outlet.send(&Message::Progress { done, total })
    }

    fn measured(&mut self, measure: &Measure) -> Result<()> {
        self.outlet.send(&Message::Measured(*measure))
    }

    fn iteration(&mut self, iteration: &IterationTime) -> Result<()> {
        self.outlet.send(&Message::Iteration(*iteration))
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        if self.detail.includes(record) {
            self.outlet.send(&Message::Record(Box::new(record.clone())))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.outlet.send(&Message::Finished)?;
        self.outlet.finish()
    }
}
