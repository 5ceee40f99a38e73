//! What goes wrong in a network, and when.

use super::plan::{LinkId, NicId, PortId};
use crate::drive::simulate::time::Span;

/// One thing that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// Frames that `from` sends do not arrive.
    Loss {
        /// The sending end.
        from: PortId,
        /// How many of them: 0 to 1.
        share: f64,
        /// When.
        span: Span,
    },
    /// A link without a signal: what is on it is lost, and routes avoid it after a while.
    Down {
        /// Which.
        link: LinkId,
        /// When.
        span: Span,
    },
    /// Packets that `from` sends become Not-ECT.
    ClearEct {
        /// The sending end.
        from: PortId,
        /// When.
        span: Span,
    },
    /// Packets that `from` sends get another DSCP, and have another priority from there on.
    RewriteDscp {
        /// The sending end.
        from: PortId,
        /// The new one.
        dscp: u8,
        /// When.
        span: Span,
    },
    /// The host's memory takes packets slowly, so that the NIC pauses its switch.
    SlowReceive {
        /// Whose.
        nic: NicId,
        /// Bits per second.
        rate_bps: u64,
        /// When.
        span: Span,
    },
    /// The host's memory gives packets slowly.
    SlowSend {
        /// Whose.
        nic: NicId,
        /// Bits per second.
        rate_bps: u64,
        /// When.
        span: Span,
    },
    /// A broken NIC pauses its switch without a reason.
    PauseStorm {
        /// Which.
        nic: NicId,
        /// What it pauses.
        priority: u8,
        /// When.
        span: Span,
    },
}

impl Trouble {
    /// When.
    pub const fn span(&self) -> Span {
        match *self {
            Self::Loss { span, .. }
            | Self::Down { span, .. }
            | Self::ClearEct { span, .. }
            | Self::RewriteDscp { span, .. }
            | Self::SlowReceive { span, .. }
            | Self::SlowSend { span, .. }
            | Self::PauseStorm { span, .. } => span,
        }
    }
}
