//! Faults begin and end.

use super::{Effects, Trouble};
use crate::simulate::network::Network;
use crate::simulate::network::event::Event;
use crate::simulate::network::id::{PortId, PrioritySet};
use crate::simulate::network::port::PauseReason;
use crate::simulate::network::tap::TapSink;
use crate::simulate::time::VirtualTime;

impl Network {
    /// Schedules all faults.
    pub(in crate::simulate::network) fn plan_troubles(&mut self) {
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
    pub(in crate::simulate::network) fn turn(&mut self, trouble: u32, taps: &mut dyn TapSink) {
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
        let storm = effects.storm;
        let before = std::mem::replace(&mut self.ports[index as usize].effects, effects).storm;
        for priority in 0..8 {
            let bit = PrioritySet::only(priority).0;
            if storm & !before & bit != 0 {
                self.ask_pause(index, priority, PauseReason::Storm, taps);
            } else if before & !storm & bit != 0 {
                self.end_asking(index, priority, PauseReason::Storm, taps);
            }
        }
    }

    /// The ports that a fault affects.
    fn ports_of(&self, trouble: &Trouble) -> Vec<u32> {
        match *trouble {
            // Frames are lost at the receiving end.
            Trouble::Loss { from, .. } => vec![from.peer().number()],
            Trouble::ClearEct { from, .. }
            | Trouble::RewriteDscp { from, .. }
            | Trouble::Delay { from, .. } => vec![from.number()],
            Trouble::Down { link, .. } => {
                vec![PortId::first(link).number(), PortId::second(link).number()]
            }
            Trouble::SlowReceive { nic, .. }
            | Trouble::SlowSend { nic, .. }
            | Trouble::PauseStorm { nic, .. } => vec![self.nics[nic.0 as usize].port],
        }
    }
}
