//! Flows whose last sign is older than what is kept.

use super::FlowTracker;
use crate::flow::state::Flow;

impl FlowTracker {
    /// Forgets the flows that `is_over` says are over. `moved` learns, in order, of each index that has no
    /// flow any more, and of the index whose flow is there now, if one is.
    pub fn forget(
        &mut self,
        is_over: impl Fn(&Flow) -> bool,
        moved: &mut dyn FnMut(u32, Option<u32>),
    ) -> u64 {
        let mut forgotten = 0;
        let mut at = 0;
        while let Some(flow) = self.flows.flows().get(at as usize) {
            if !is_over(flow) {
                at += 1;
                continue;
            }
            forgotten += 1;
            let (gone, from) = self.flows.remove(at);
            if !gone.is_superseded {
                self.pairing.remove_port(&gone.key, gone.first_udp_source_port, at);
            }
            self.recovering_flows -= usize::from(gone.episodes.is_some());
            if let Some(from) = from {
                let flow = self.flows.at(at);
                let (key, port) = (flow.key, flow.first_udp_source_port);
                self.pairing.moved(&key, port, from, at);
            }
            moved(at, from);
        }
        forgotten
    }
}
