//! Why interfaces cannot be observed.

use std::io;

/// Why an interface cannot be observed.
#[derive(Debug, thiserror::Error)]
pub enum AfPacketError {
    /// There is no interface of this name.
    #[error("no interface {name}; this host has: {have}")]
    NoInterface {
        /// The name that was given.
        name: String,
        /// The existing ones.
        have: String,
    },
    /// This process lacks the permission.
    #[error(
        "capture on {name}: permission denied; run as root, or: setcap cap_net_raw+ep $(which railscope)"
    )]
    NotAllowed {
        /// The interface.
        name: String,
    },
    /// Its frames are neither Ethernet nor IP.
    #[error(
        "capture on {name}: its frames are of type {kind} (linux/if_arp.h), not Ethernet{}",
        if *kind == libc::ARPHRD_INFINIBAND {
            ": InfiniBand, which packet sockets cannot capture"
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
        /// The kernel's reason.
        #[source]
        source: io::Error,
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
