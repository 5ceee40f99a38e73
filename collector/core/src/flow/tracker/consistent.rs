//! Whether a tracker that was read from a file can be one that was written.

use super::FlowTracker;

impl FlowTracker {
    /// Whether what it refers to by number is there.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let has_tap = |tap: u32| (tap as usize) < self.taps.len();
        let has_flow = |flow: u32| (flow as usize) < self.flows.flows().len();
        let flows = self.flows.flows().iter().all(|flow| {
            has_tap(flow.key.tap.0)
                && flow.reverse.is_none_or(|reverse| has_flow(reverse.flow))
                && flow.ports.iter().flatten().all(|port| self.ports.has(*port))
        });
        flows && self.ports.ports().iter().all(|port| has_tap(port.tap.0))
    }
}
