//! Why kernel programs cannot observe.

use std::io;

use aya::programs::ProgramError;

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum EbpfError {
    /// There is no interface of this name.
    #[error("no interface {name} here; there are: {have}")]
    NoInterface {
        /// As it was named.
        name: String,
        /// Those that are there.
        have: String,
    },
    /// This process may not, or the kernel is too old.
    #[error("load kernel programs: {missing}")]
    Missing {
        /// What is missing, in words.
        missing: String,
    },
    /// The kernel refuses the programs.
    #[error("load kernel programs")]
    Load(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The object lacks something that this program was built with.
    #[error("the object with the kernel programs has no {part}: `cargo xtask ebpf` rebuilds it")]
    Object {
        /// What is missing.
        part: String,
    },
    /// The kernel refuses to run them at an interface.
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
        /// Its path.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

impl EbpfError {
    pub(in crate::ingest) fn load(error: aya::EbpfError) -> Self {
        Self::Load(error.into())
    }

    pub(in crate::ingest) fn program(error: ProgramError) -> Self {
        Self::Load(error.into())
    }

    pub(in crate::ingest) fn attach(name: &str, error: ProgramError) -> Self {
        Self::Attach { name: name.to_owned(), source: error.into() }
    }
}
