//! Trouble on purpose, each at a named place.

use std::time::Duration;

use super::job::Iterations;

/// One fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A rank computes longer.
    Straggler {
        /// Who.
        rank: u32,
        /// By how much.
        delay: Duration,
        /// When; `None`: always.
        iterations: Option<Iterations>,
    },
    /// A rank offers room late: each clear-to-send waits.
    LateReceiver {
        /// Who.
        rank: u32,
        /// How long each offer is held back.
        delay: Duration,
        /// When; `None`: always.
        iterations: Option<Iterations>,
    },
    /// Packets that a rank's port sends are dropped before they reach the wire.
    Loss(PacketFault),
    /// Packets that a rank's port sends are held back behind the next few.
    Reorder(PacketFault),
    /// Packets that a rank's port sends leave with CE, as if a switch had marked them.
    MarkCe(PacketFault),
    /// NET/IB finds no device, and all ranks fall back to NET/Socket.
    SocketFallback,
    /// A rank never comes.
    MissingRank {
        /// Who.
        rank: u32,
    },
}

/// Which packets, and how many of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketFault {
    /// From this rank to that; `None`: on every edge.
    pub edge: Option<(u32, u32)>,
    /// The share of packets, from 0 to 1.
    pub share: f64,
    /// When; `None`: always.
    pub iterations: Option<Iterations>,
}
