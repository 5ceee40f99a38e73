//! A source of samples: an interface that draws one packet in `rate`, and what it drew.

use super::numbers::{Numbers, Place};
use crate::decode::sflow::{FlowSample, Source};
use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;

/// Identifies a source; with another rate it is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceKey {
    /// Where it draws.
    pub source: Source,
    /// One packet in so many is drawn.
    pub rate: u32,
}

/// On which side of the switch a packet was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Where it came in: before the switch could mark or drop it.
    Ingress,
    /// Where it went out.
    Egress,
    /// The source is neither.
    Unknown,
}

/// Sums over packets that were drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets.
    pub frames: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// The squares of these.
    pub squares: u64,
}

impl Sums {
    /// Adds a packet.
    pub const fn add(&mut self, wire_len: u32) {
        self.frames += 1;
        self.bytes += wire_len as u64;
        self.squares = self.squares.saturating_add((wire_len as u64).pow(2));
    }
}

/// What was drawn on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// All packets.
    pub all: Sums,
    /// RoCE among them.
    pub roce: Sums,
    /// RoCE packets with a CE mark.
    pub ce: u64,
    /// CNPs among the RoCE packets.
    pub cnps: u64,
    /// Pause frames: few switches sample them.
    pub pauses: u64,
    /// Packets whose header could not be read as far as the transport.
    pub unread: u64,
}

/// Identifies the packets to a queue pair that a source drew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Who drew them.
    pub source: SourceKey,
    /// On which side.
    pub side: Side,
    /// Sender.
    pub from: HostAddress,
    /// Receiver.
    pub to: HostAddress,
    /// Queue pair of the receiver.
    pub dest_qpn: Qpn,
}

/// Packets to a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDrawn {
    /// The packets.
    pub sums: Sums,
    /// Those with a CE mark.
    pub ce: u64,
    /// CNPs.
    pub cnps: u64,
}

/// The state of a source.
#[derive(Clone, Debug, Default)]
pub struct SourceState {
    /// Numbers of its samples.
    pub numbers: Numbers,
    /// Samples that the switch says it lost.
    pub drops: u64,
    /// Packets that could have been drawn, between the first sample and the last.
    pub pool: u64,
    /// Samples that it numbered or lost in that time.
    pub drawn_from_pool: u64,
    /// What was drawn where a packet came in, went out, or elsewhere.
    pub sides: [Drawn; 3],
    last: Option<(u32, u32)>,
}

impl SourceState {
    /// Takes the head of a sample; `None` if it was there before.
    pub(super) fn observe(&mut self, sample: &FlowSample<'_>) -> Option<()> {
        let ahead = match self.numbers.observe(sample.sequence) {
            Place::Twice => return None,
            Place::Late => return Some(()),
            Place::Restart => {
                self.last = Some((sample.pool, sample.drops));
                return Some(());
            }
            Place::Ahead(ahead) => ahead,
        };
        if let Some((pool, drops)) = self.last.replace((sample.pool, sample.drops)) {
            let dropped = grown(drops, sample.drops);
            self.drops += dropped;
            self.pool += grown(pool, sample.pool);
            self.drawn_from_pool += u64::from(ahead) + dropped;
        }
        Some(())
    }

    /// What was drawn on a side.
    #[must_use]
    pub const fn side(&self, side: Side) -> &Drawn {
        let [ingress, egress, unknown] = &self.sides;
        match side {
            Side::Ingress => ingress,
            Side::Egress => egress,
            Side::Unknown => unknown,
        }
    }

    pub(super) const fn side_mut(&mut self, side: Side) -> &mut Drawn {
        let [ingress, egress, unknown] = &mut self.sides;
        match side {
            Side::Ingress => ingress,
            Side::Egress => egress,
            Side::Unknown => unknown,
        }
    }
}

/// Growth of a counter that wraps; 0 if it went back.
fn grown(before: u32, after: u32) -> u64 {
    let grown = after.wrapping_sub(before);
    if grown < 1 << 31 { u64::from(grown) } else { 0 }
}
