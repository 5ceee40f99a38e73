//! What can be observed of a running network.

use super::id::{PortId, TapId};
use super::packet::Packet;
use crate::simulate::time::VirtualTime;

/// The direction of a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The port sends it.
    Out,
    /// The port has received it.
    In,
}

/// Receives observations. Times never decrease.
pub trait TapSink {
    /// A frame passed a tap, including PFC: timestamped at its first bit when sent, at its last bit
    /// when received. A frame lost on a link is seen leaving but not arriving.
    fn packet(&mut self, tap: TapId, time: VirtualTime, direction: Direction, packet: &Packet);

    /// An event inside the network that no wire shows, for truth files and tests.
    fn occurred(&mut self, time: VirtualTime, occurrence: Occurrence) {
        let _ = (time, occurrence);
    }
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl TapSink for Blind {
    fn packet(&mut self, _: TapId, _: VirtualTime, _: Direction, _: &Packet) {}
}

/// An event inside the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// A switch set CE.
    Marked {
        /// The port with the long queue.
        egress: PortId,
        /// Priority of that queue, 0 to 7.
        priority: u8,
        /// The queue length that the packet found.
        queue_bytes: u64,
    },
    /// A port sent XOFF, for the first time or again.
    Xoff {
        /// The port: the neighbour of the one that must wait.
        ingress: PortId,
        /// The paused priority, 0 to 7.
        priority: u8,
        /// Bytes stored from there, including the packet that was too many.
        stored_bytes: u64,
    },
    /// A port sent XON.
    Xon {
        /// The port that sent it.
        ingress: PortId,
        /// The resumed priority, 0 to 7.
        priority: u8,
        /// Bytes stored from there.
        stored_bytes: u64,
    },
    /// A packet was dropped before its destination.
    Dropped {
        /// The last port on its path.
        ingress: PortId,
        /// The reason.
        cause: DropCause,
        /// Its frame size.
        frame_bytes: u16,
    },
    /// All switches have routes for the current links.
    Converged,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Lost on the link to this port.
    Loss,
    /// The link to this port was down.
    LinkDown,
    /// The switch's buffer was full.
    SwitchBuffer,
    /// The NIC's buffer was full.
    NicBuffer,
    /// The switch had no route.
    NoRoute,
}
