//! Several trackers, each of which followed taps of its own, as one.

use super::FlowTracker;
use crate::model::tap::TapId;

impl FlowTracker {
    /// Calls the file of all taps otherwise.
    pub fn rename_taps(&mut self, file: &str) {
        for state in &mut self.taps {
            file.clone_into(&mut state.tap.file);
        }
    }

    /// Takes over what `others` know of their taps: tap n of one is `taps[n]` here, and was added before. No
    /// packet can be observed afterwards.
    pub fn join<'a>(&mut self, others: impl Iterator<Item = (Self, &'a [TapId])>) {
        others.for_each(|(other, taps)| self.take_over(other, taps));
        self.flows.sort();
    }

    fn take_over(&mut self, other: Self, taps: &[TapId]) {
        let Self { taps: own, flows, ports, connections, pauses, mirrors, messages, .. } = other;
        for (state, id) in own.into_iter().zip(taps) {
            if let Some(place) = self.taps.get_mut(id.0 as usize) {
                *place = state;
            }
        }
        let offset = self.ports.join(ports, taps);
        self.flows.join(flows, |flow| {
            flow.key.tap = flow.key.tap.among(taps);
            flow.ports = flow.ports.map(|port| Some(port?.after(offset)));
        });
        self.connections.join(&connections);
        self.pauses.join(pauses, taps);
        self.mirrors.join(mirrors, taps);
        self.messages.extend(messages.into_iter().map(|message| message.at_tap(taps)));
        self.restarted_epochs += other.restarted_epochs;
        self.recovering_flows += other.recovering_flows;
    }
}
