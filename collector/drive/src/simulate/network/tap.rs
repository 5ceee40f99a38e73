//! What can be seen of a network while it runs.

use super::packet::Packet;
use super::plan::{PortId, TapId};
use crate::simulate::time::VirtualTime;

/// Which way a packet passed a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The port sends it.
    Out,
    /// The port has received it.
    In,
}

/// Takes what is seen. Times never decrease.
pub trait TapSink {
    /// A frame passed a tap, a PFC frame too: its first bit when it goes out, its last bit when it
    /// comes in. What a link loses was seen going out and is not seen coming in.
    fn packet(&mut self, tap: TapId, time: VirtualTime, direction: Direction, packet: &Packet);

    /// Something happened inside the network that no wire shows: for truth files and for tests.
    fn occurred(&mut self, time: VirtualTime, occurrence: Occurrence) {
        let _ = (time, occurrence);
    }
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl TapSink for Blind {
    fn packet(&mut self, _: TapId, _: VirtualTime, _: Direction, _: &Packet) {}
}

/// What happens inside the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// A switch set CE.
    Marked {
        /// Whose queue was long.
        egress: PortId,
        /// Which queue.
        priority: u8,
        /// What the packet found there.
        queue_bytes: u64,
    },
    /// A port sent XOFF, for the first time or again.
    Xoff {
        /// Which: the neighbour of who has to wait.
        ingress: PortId,
        /// For which priority.
        priority: u8,
        /// What is stored of what came in there, the packet that was too much included.
        stored_bytes: u64,
    },
    /// A port sent XON.
    Xon {
        /// Which.
        ingress: PortId,
        /// For which priority.
        priority: u8,
        /// What is stored of what came in there.
        stored_bytes: u64,
    },
    /// A packet ended before it was where it should go.
    Dropped {
        /// The port that it last arrived at, or did not.
        ingress: PortId,
        /// Why.
        cause: DropCause,
        /// Its frame.
        frame_bytes: u16,
    },
    /// All switches have routes for the links that are up now.
    Converged,
}

/// Why a packet ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// Lost on the link to this port.
    Loss,
    /// The link to this port was down.
    LinkDown,
    /// The switch had no room.
    SwitchBuffer,
    /// The NIC had no room.
    NicBuffer,
    /// The switch had no link to send it on.
    NoRoute,
}
