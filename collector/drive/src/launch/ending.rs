//! How ranks end, and which of them to blame when several fail at once.

use std::fmt;

use super::message::Failure;

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It reported success.
    Finished,
    /// It reported an error.
    Failed(Failure),
    /// A signal killed it.
    Signal {
        /// `SIGKILL`
        name: String,
    },
    /// It exited without a report.
    Exit {
        /// Its exit code.
        code: i32,
        /// The last line of its standard error.
        last_words: Option<String>,
    },
    /// It could not be started.
    NotStarted(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("is done"),
            Self::Failed(failure) => write!(f, "gave up: {}", failure.text),
            Self::Signal { name } => write!(f, "was killed by {name}"),
            Self::Exit { code, last_words: None } => write!(f, "ended with exit code {code}"),
            Self::Exit { code, last_words: Some(words) } => {
                write!(f, "ended with exit code {code}: {words}")
            }
            Self::NotStarted(reason) => write!(f, "could not be started: {reason}"),
        }
    }
}

impl Ending {
    /// Worst first: a rank that lost a peer may only have noticed the peer's failure.
    fn severity(&self) -> u8 {
        match self {
            Self::NotStarted(_) | Self::Signal { .. } | Self::Exit { .. } => 0,
            Self::Failed(failure) if !failure.is_consequence => 1,
            Self::Failed(_) => 2,
            Self::Finished => 3,
        }
    }
}

/// The rank to blame, in a sentence, given ranks in the order they ended; `None` if all succeeded.
/// Rank 0 serves the store: among ranks that timed out, it knows best what was missing.
pub(super) fn blame(endings: &[(u32, Ending)]) -> Option<String> {
    let worst = endings.iter().min_by_key(|(rank, ending)| (ending.severity(), *rank != 0));
    let (rank, ending) = worst.filter(|(_, ending)| *ending != Ending::Finished)?;
    Some(format!("rank {rank} {ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str, is_consequence: bool) -> Ending {
        Ending::Failed(Failure { text: text.to_owned(), is_consequence })
    }

    #[test]
    fn the_cause_is_named_before_its_consequences() {
        let lost = || failed("rank 2 went away", true);
        let killed = Ending::Signal { name: "SIGKILL".to_owned() };
        let all = [(0, lost()), (1, Ending::Finished), (2, killed)];
        assert_eq!(blame(&all).unwrap(), "rank 2 was killed by SIGKILL");
        let all = [(3, lost()), (0, lost()), (1, failed("no adapter", false))];
        assert_eq!(blame(&all).unwrap(), "rank 1 gave up: no adapter");
        assert_eq!(blame(&[(3, lost()), (1, lost())]).unwrap(), "rank 3 gave up: rank 2 went away");
        assert_eq!(blame(&[(3, lost()), (0, lost())]).unwrap(), "rank 0 gave up: rank 2 went away");
        assert_eq!(blame(&[(0, Ending::Finished)]), None);
    }
}
