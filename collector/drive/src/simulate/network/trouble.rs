//! Faults of a network, when they are active, and their effects on a port.

mod turns;

use super::id::{LinkId, NicId, PortId, PrioritySet};
use super::packet::{Body, Packet};
use crate::simulate::time::Span;

/// A temporary fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// Frames sent by `from` are lost.
    Loss {
        /// The sending end.
        from: PortId,
        /// Which frames.
        of: LossFilter,
        /// Share of these frames, 0 to 1.
        share: f64,
        /// When it is active.
        span: Span,
    },
    /// Frames sent by `from` are held up on the way, so that later ones overtake them.
    Delay {
        /// The sending end.
        from: PortId,
        /// Share of frames, 0 to 1.
        share: f64,
        /// By how much.
        by_ns: u64,
        /// When it is active.
        span: Span,
    },
    /// A link without signal: frames on it are lost, and routes avoid it after a while.
    Down {
        /// The link, both directions.
        link: LinkId,
        /// When it is active.
        span: Span,
    },
    /// Packets sent by `from` become Not-ECT.
    ClearEct {
        /// The sending end.
        from: PortId,
        /// When it is active.
        span: Span,
    },
    /// Packets sent by `from` get another DSCP, and so another priority from there on.
    RewriteDscp {
        /// The sending end.
        from: PortId,
        /// The new DSCP.
        dscp: u8,
        /// When it is active.
        span: Span,
    },
    /// The host's memory accepts packets slowly, so the NIC pauses its switch.
    SlowReceive {
        /// The receiving host's NIC.
        nic: NicId,
        /// Bits per second.
        rate_bps: u64,
        /// When it is active.
        span: Span,
    },
    /// The host's memory provides packets slowly.
    SlowSend {
        /// The sending host's NIC.
        nic: NicId,
        /// Bits per second.
        rate_bps: u64,
        /// When it is active.
        span: Span,
    },
    /// A broken NIC pauses its switch for no reason.
    PauseStorm {
        /// The NIC that sends pause frames.
        nic: NicId,
        /// The paused priority.
        priority: u8,
        /// When it is active.
        span: Span,
    },
}

/// The frames that a loss affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossFilter {
    /// Only those to this NIC.
    pub destination: Option<NicId>,
    /// Only data, or only acknowledgements.
    pub kind: Option<LossKind>,
}

/// What the frames carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Requests.
    Data,
    /// Acknowledgements, positive and negative.
    Acks,
}

impl LossFilter {
    /// Whether it affects `packet`.
    pub(super) fn matches(self, packet: &Packet) -> bool {
        let kind = match packet.body {
            Body::Write(_) => Some(LossKind::Data),
            Body::Acknowledge { .. } => Some(LossKind::Acks),
            _ => None,
        };
        self.destination.is_none_or(|nic| nic == packet.destination)
            && (self.kind.is_none() || self.kind == kind)
    }
}

impl Trouble {
    /// When the fault is active.
    pub const fn span(&self) -> Span {
        match *self {
            Self::Loss { span, .. }
            | Self::Delay { span, .. }
            | Self::Down { span, .. }
            | Self::ClearEct { span, .. }
            | Self::RewriteDscp { span, .. }
            | Self::SlowReceive { span, .. }
            | Self::SlowSend { span, .. }
            | Self::PauseStorm { span, .. } => span,
        }
    }
}

/// The combined effect of active faults on a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Effects {
    /// The link has no signal.
    pub(super) is_down: bool,
    /// Frames to this port that are lost, and their share.
    pub(super) losses: Vec<(LossFilter, f64)>,
    /// Share of the frames it sends that is held up, and by how much.
    pub(super) delay: Option<(f64, u64)>,
    /// Packets it sends become Not-ECT.
    pub(super) clears_ect: bool,
    /// Packets it sends get this DSCP.
    pub(super) dscp: Option<u8>,
    /// Rate limit of the host's sending.
    pub(super) slow_bps: Option<u64>,
    /// Rate limit of the host's receiving.
    pub(super) slow_receive_bps: Option<u64>,
    /// Priorities it pauses for no reason.
    pub(super) storm: u8,
}

impl Effects {
    fn add(&mut self, trouble: &Trouble) {
        let slower = |old: Option<u64>, new: u64| Some(old.map_or(new, |old| old.min(new)));
        match *trouble {
            Trouble::Loss { of, share, .. } => self.losses.push((of, share)),
            Trouble::Delay { share, by_ns, .. } => self.delay = Some((share, by_ns)),
            Trouble::Down { .. } => self.is_down = true,
            Trouble::ClearEct { .. } => self.clears_ect = true,
            Trouble::RewriteDscp { dscp, .. } => self.dscp = Some(dscp),
            Trouble::SlowSend { rate_bps, .. } => self.slow_bps = slower(self.slow_bps, rate_bps),
            Trouble::SlowReceive { rate_bps, .. } => {
                self.slow_receive_bps = slower(self.slow_receive_bps, rate_bps);
            }
            Trouble::PauseStorm { priority, .. } => self.storm |= PrioritySet::only(priority).0,
        }
    }
}
