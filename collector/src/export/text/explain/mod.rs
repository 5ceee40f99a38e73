//! One thing at length: a rank, a queue pair, a collective or a training step, and why it is believed to be so.

mod collective;
mod collective_facts;
mod evidence;
mod iteration;
mod iteration_facts;
mod missing;
mod queue_pair;
mod queue_pair_facts;
mod rank;
mod rank_facts;
mod subject;

pub use self::missing::Missing;
pub use self::subject::{Selection, Subject};

use std::io::{self, Write};

use super::TextOptions;

/// Writes everything that is known about `subject`.
///
/// # Errors
///
/// When writing fails.
pub fn write(subject: &Subject<'_>, options: &TextOptions, mut out: impl Write) -> io::Result<()> {
    match subject {
        Subject::Rank(facts) => rank::write(facts, options, &mut out)?,
        Subject::QueuePair(facts) => queue_pair::write(facts, options, &mut out)?,
        Subject::Collective(facts) => collective::write(facts, options, &mut out)?,
        Subject::TrainingStep(facts) => iteration::write(facts, options, &mut out)?,
    }
    evidence::write_hint(&mut out)
}
