//! Faults of a network, and when they are active.

use super::Network;
use super::event::Event;
use super::pause::Reason;
use super::plan::{LinkId, NicId, PortId, PrioritySet};
use super::tap::TapSink;
use crate::simulate::time::{Span, VirtualTime};

/// A temporary fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trouble {
    /// Frames sent by `from` are lost.
    Loss {
        /// The sending end.
        from: PortId,
        /// Share of frames, 0 to 1.
        share: f64,
        /// When it is active.
        span: Span,
    },
    /// A link without signal: frames on it are lost, and routes avoid it after a while.
    Down {
        /// The link.
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
        /// The NIC.
        nic: NicId,
        /// Bits per second.
        rate_bps: u64,
        /// When it is active.
        span: Span,
    },
    /// The host's memory provides packets slowly.
    SlowSend {
        /// The NIC.
        nic: NicId,
        /// Bits per second.
        rate_bps: u64,
        /// When it is active.
        span: Span,
    },
    /// A broken NIC pauses its switch for no reason.
    PauseStorm {
        /// The NIC.
        nic: NicId,
        /// The paused priority.
        priority: u8,
        /// When it is active.
        span: Span,
    },
}

impl Trouble {
    /// When the fault is active.
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

/// The combined effect of active faults on a port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Effects {
    /// The link has no signal.
    pub(super) is_down: bool,
    /// Share of frames to this port that is lost.
    pub(super) loss: f64,
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
            Trouble::Loss { share, .. } => self.loss = 1.0 - (1.0 - self.loss) * (1.0 - share),
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

impl Network {
    /// Schedules all faults.
    pub(super) fn plan_troubles(&mut self) {
        for (index, trouble) in (0_u32..).zip(&self.troubles) {
            let span = trouble.span();
            for time in [span.from, span.until] {
                if span.from < span.until && time < VirtualTime::NEVER {
                    self.events.push(time.into(), Event::TroubleTurn { trouble: index });
                }
            }
        }
    }

    /// A fault begins or ends.
    pub(super) fn turn(&mut self, trouble: u32, taps: &mut dyn TapSink) {
        let ports = self.ports_of(&self.troubles[trouble as usize]);
        let was_up = self.ports[ports[0] as usize].is_up();
        for &port in &ports {
            self.apply_effects(port, taps);
        }
        let is_up = self.ports[ports[0] as usize].is_up();
        if was_up != is_up {
            self.routing.links_changed(&self.ports);
            for port in [ports[0], ports[0] ^ 1] {
                if is_up {
                    self.send_next(port, taps);
                } else {
                    self.ports[port as usize].counters.downs += 1;
                    self.forget_pauses(port, taps);
                }
            }
            self.events.push(self.now.after(self.convergence), Event::Convergence);
        }
    }

    fn apply_effects(&mut self, index: u32, taps: &mut dyn TapSink) {
        let mut effects = Effects::default();
        for trouble in &self.troubles {
            let span = trouble.span();
            let is_now = self.now >= span.from.into() && self.now < span.until.into();
            if is_now && self.ports_of(trouble).contains(&index) {
                effects.add(trouble);
            }
        }
        let before = std::mem::replace(&mut self.ports[index as usize].effects, effects);
        for priority in 0..8 {
            let bit = PrioritySet::only(priority).0;
            if effects.storm & !before.storm & bit != 0 {
                self.ask_pause(index, priority, Reason::Storm, taps);
            } else if before.storm & !effects.storm & bit != 0 {
                self.end_asking(index, priority, Reason::Storm, taps);
            }
        }
    }

    /// The ports that a fault affects.
    fn ports_of(&self, trouble: &Trouble) -> Vec<u32> {
        match *trouble {
            // Frames are lost at the receiving end.
            Trouble::Loss { from, .. } => vec![from.peer().number()],
            Trouble::ClearEct { from, .. } | Trouble::RewriteDscp { from, .. } => {
                vec![from.number()]
            }
            Trouble::Down { link, .. } => {
                vec![PortId::first(link).number(), PortId::second(link).number()]
            }
            Trouble::SlowReceive { nic, .. }
            | Trouble::SlowSend { nic, .. }
            | Trouble::PauseStorm { nic, .. } => vec![self.nics[nic.0 as usize].port],
        }
    }
}
