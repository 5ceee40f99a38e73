//! The exit code of a job.

use anyhow::bail;

use crate::cli::exit_code::EXIT_INTERRUPTED;
use railscope_drive::launch::Outcome;

/// Some results were wrong; as in nccl-tests.
const EXIT_WRONG: u8 = 1;

/// The exit code of a job, with the number of wrong results if they were checked.
pub(super) fn outcome_code(outcome: Outcome, wrong: Option<u64>) -> anyhow::Result<u8> {
    match outcome {
        Outcome::Done if wrong.unwrap_or(0) > 0 => Ok(EXIT_WRONG),
        Outcome::Done => Ok(0),
        Outcome::Interrupted => Ok(EXIT_INTERRUPTED),
        Outcome::Failed(reason) => bail!("{reason}; all ranks were stopped"),
    }
}
