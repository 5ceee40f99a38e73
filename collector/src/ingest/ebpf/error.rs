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
    /// The kernel does not let this process.
    #[error(
        "load kernel programs: it needs root, or the capabilities CAP_BPF, CAP_NET_ADMIN and \
         CAP_PERFMON; a packet socket needs CAP_NET_RAW only"
    )]
    NotAllowed(#[source] Box<dyn std::error::Error + Send + Sync>),
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
    pub(super) fn load(error: aya::EbpfError) -> Self {
        if is_refusal(&error) { Self::NotAllowed(error.into()) } else { Self::Load(error.into()) }
    }

    pub(super) fn program(error: ProgramError) -> Self {
        if is_refusal(&error) { Self::NotAllowed(error.into()) } else { Self::Load(error.into()) }
    }

    pub(super) fn attach(name: &str, error: ProgramError) -> Self {
        if is_refusal(&error) {
            Self::NotAllowed(error.into())
        } else {
            Self::Attach { name: name.to_owned(), source: error.into() }
        }
    }
}

/// Whether somewhere below an error the kernel said that this process may not.
fn is_refusal(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut below = Some(error);
    while let Some(error) = below {
        // EACCES is the verifier's.
        let code = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        if code == Some(libc::EPERM) {
            return true;
        }
        below = error.source();
    }
    false
}
