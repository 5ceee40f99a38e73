//! Injected faults, each at a named place.

use std::ops::Range;
use std::time::Duration;

/// Training steps with a fault, from 0, warm-up excluded.
pub type Iterations = Range<u32>;

/// A fault that `railscope drive` injects, and the rank or edge that it hits.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A rank computes longer.
    Straggler {
        /// The rank that computes longer.
        rank: u32,
        /// Extra compute time per training step.
        delay: Duration,
        /// Training steps; `None`: all.
        iterations: Option<Iterations>,
    },
    /// A rank's GPU begins its collectives late: they are called in time.
    LateGpu {
        /// The rank whose GPU is late.
        rank: u32,
        /// How late the first collective of a training step begins; in a sweep, each.
        delay: Duration,
        /// Training steps; `None`: all.
        iterations: Option<Iterations>,
    },
    /// A rank offers buffers late: each clear-to-send waits.
    LateReceiver {
        /// The rank that offers late.
        rank: u32,
        /// How long each offer is held back.
        delay: Duration,
        /// Training steps; `None`: all.
        iterations: Option<Iterations>,
    },
    /// Packets that a rank's port sends are dropped before they reach the wire.
    Loss(PacketFault),
    /// Packets that a rank's port sends are held back until the next few have left.
    Reorder(PacketFault),
    /// Packets that a rank's port sends leave with CE, as if a switch had marked them.
    MarkCe(PacketFault),
    /// A rank's port asks the one that sends to it to pause.
    Pause(PauseFault),
    /// NET/IB finds no device, and all ranks fall back to NET/Socket.
    SocketFallback,
    /// TCP from a rank to the next is slow.
    SlowSocket(SocketFault),
    /// A rank's queue pairs use this path MTU, whatever both ends agreed on.
    PathMtu {
        /// The rank.
        rank: u32,
        /// Largest payload of a packet, in bytes.
        bytes: u16,
    },
    /// A rank never joins.
    MissingRank {
        /// The rank that is not started.
        rank: u32,
    },
}

/// Which edge of NET/Socket is slow, and how slow.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketFault {
    /// From one rank to another.
    pub edge: (u32, u32),
    /// What each of its TCP connections sends at most, in bits per second.
    pub bits_per_second: u64,
    /// Training steps; `None`: all.
    pub iterations: Option<Iterations>,
}

/// Which port is paused, and how much.
#[derive(Clone, Debug, PartialEq)]
pub struct PauseFault {
    /// The port of the first rank, by that of the second one.
    pub edge: (u32, u32),
    /// Share of the time, from 0 to 1.
    pub share: f64,
    /// Training steps; `None`: all.
    pub iterations: Option<Iterations>,
}

/// Which packets a fault hits, and how many.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketFault {
    /// From one rank to another; `None`: on every edge.
    pub edge: Option<(u32, u32)>,
    /// Share of packets, from 0 to 1.
    pub share: f64,
    /// Training steps; `None`: all.
    pub iterations: Option<Iterations>,
}
