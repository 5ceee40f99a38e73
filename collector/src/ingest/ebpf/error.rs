//! Why kernel programs cannot run.

use std::io;

use aya::programs::ProgramError;

use crate::ingest::capability::Verdict;

/// Why kernel programs cannot run.
#[derive(Debug, thiserror::Error)]
pub enum EbpfError {
    /// There is no interface of this name.
    #[error("no interface {name} here; there are: {have}")]
    NoInterface {
        /// The name that was given.
        name: String,
        /// The existing ones.
        have: String,
    },
    /// This process lacks a capability, or the kernel is too old.
    #[error("load kernel programs: {missing}")]
    Missing {
        /// What is missing, in words.
        missing: String,
    },
    /// The kernel refuses the programs.
    #[error("load kernel programs")]
    Load(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The kernel's verifier refuses a program.
    #[error("load kernel programs: the verifier of this kernel says \"{verdict}\"")]
    Refused {
        /// The last line of its log.
        verdict: String,
        /// The kernel's error.
        #[source]
        source: io::Error,
    },
    /// The object lacks a part that this program expects.
    #[error("the object with the kernel programs has no {part}: `cargo xtask ebpf` rebuilds it")]
    Object {
        /// What is missing.
        part: String,
    },
    /// The kernel refuses to attach them to an interface or function.
    #[error("observe {name} with kernel programs")]
    Attach {
        /// The interface.
        name: String,
        /// Its reason.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The network namespace cannot be entered.
    #[error("enter the network namespace {path}")]
    Namespace {
        /// Path of the namespace's file.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl EbpfError {
    /// Whether a verdict allows the programs to be loaded.
    ///
    /// # Errors
    ///
    /// It does not; the error says what is missing.
    pub fn unless_runs(verdict: &Verdict) -> Result<(), Self> {
        match verdict.runs() {
            true => Ok(()),
            false => Err(Self::Missing { missing: verdict.missing.join("; ") }),
        }
    }

    pub(in crate::ingest) fn load(error: aya::EbpfError) -> Self {
        Self::Load(error.into())
    }

    pub(in crate::ingest) fn program(error: ProgramError) -> Self {
        match error {
            ProgramError::LoadError { io_error, verifier_log } => {
                match verdict(&verifier_log.to_string()) {
                    Some(verdict) => Self::Refused { verdict, source: io_error },
                    None => Self::Load(io_error.into()),
                }
            }
            other => Self::Load(other.into()),
        }
    }

    pub(in crate::ingest) fn attach(name: &str, error: ProgramError) -> Self {
        Self::Attach { name: name.to_owned(), source: error.into() }
    }
}

/// An error with its causes.
pub(in crate::ingest) fn chain(error: &dyn std::error::Error) -> String {
    let below = std::iter::successors(error.source(), |error| error.source());
    below.fold(error.to_string(), |words, error| format!("{words}: {error}"))
}

/// The verifier's verdict: its last line but figures; `None` if it has none.
fn verdict(log: &str) -> Option<String> {
    const FIGURES: [&str; 3] = ["processed ", "verification time ", "stack depth "];
    let is_figure = |line: &&str| FIGURES.iter().any(|figure| line.starts_with(figure));
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.rfind(|line| !is_figure(line)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn a_verdict_stands_before_figures() {
        let log = "905: (85) call bpf_skb_load_bytes#26\n\
                   R3 min value is outside of the allowed memory range\n\
                   verification time 23718 usec\nstack depth 184+0\n\
                   processed 961 insns (limit 1000000) max_states_per_insn 3\n\n";
        let expected = "R3 min value is outside of the allowed memory range";
        assert_eq!(verdict(log).as_deref(), Some(expected));
        assert_eq!(verdict(""), None);
    }
}
