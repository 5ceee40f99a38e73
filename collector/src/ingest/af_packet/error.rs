//! Why interfaces cannot be observed.

use std::io;

/// Why not.
#[derive(Debug, thiserror::Error)]
pub enum AfPacketError {
    /// There is none of this name.
    #[error("no interface {name} here; there are: {have}")]
    NoInterface {
        /// As it was named.
        name: String,
        /// Those that are there.
        have: String,
    },
    /// The kernel does not let this process.
    #[error(
        "observe {name}: it needs root, or the capability: setcap cap_net_raw+ep on this program"
    )]
    NotAllowed {
        /// The interface.
        name: String,
    },
    /// It carries something else than Ethernet or IP.
    #[error(
        "observe {name}: its frames are of type {kind} (linux/if_arp.h), not Ethernet{}",
        if *kind == libc::ARPHRD_INFINIBAND {
            ": InfiniBand, whose data no packet socket sees"
        } else {
            ""
        }
    )]
    Foreign {
        /// The interface.
        name: String,
        /// `ARPHRD_*`.
        kind: u16,
    },
    /// The kernel refuses.
    #[error("observe {name}")]
    Open {
        /// The interface.
        name: String,
        /// Its reason.
        #[source]
        source: io::Error,
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
