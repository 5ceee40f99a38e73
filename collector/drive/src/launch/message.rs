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

/// A rank's report, as messages.
#[derive(Debug)]
pub struct Reporter<O> {
    outlet: O,
    wants_truth: bool,
}

impl<O: Outlet> Reporter<O> {
    /// Reports through `outlet`; sends records beyond the table's header only if `wants_truth`.
    pub fn new(outlet: O, wants_truth: bool) -> Self {
        Self { outlet, wants_truth }
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
        if self.wants_truth || record.is_introduction() {
            self.outlet.send(&Message::Record(Box::new(record.clone())))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.outlet.send(&Message::Finished)?;
        self.outlet.finish()
    }
}
