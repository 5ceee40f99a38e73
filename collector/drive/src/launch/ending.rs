//! How ranks end, and which of them is to blame when several end badly at once.

use std::fmt;

use super::message::Failure;

/// How a rank ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It said that it is done.
    Finished,
    /// It said why not.
    Failed(Failure),
    /// Somebody killed it.
    Signal {
        /// `SIGKILL`
        name: String,
    },
    /// It ended and did not say why.
    Exit {
        /// Its exit code.
        code: i32,
        /// The last line that it wrote to standard error.
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
    /// Worst first: a rank that lost a peer may only have noticed what happened to the peer.
    fn severity(&self) -> u8 {
        match self {
            Self::NotStarted(_) | Self::Signal { .. } | Self::Exit { .. } => 0,
            Self::Failed(failure) if !failure.is_consequence => 1,
            Self::Failed(_) => 2,
            Self::Finished => 3,
        }
    }
}

/// Who is to blame among ranks in the order they ended, in a sentence; `None` where all are done.
/// Rank 0 serves the store: of those that wait in vain, it knows best for what.
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
