//! `id`s of flows in a report.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::flow::key::FlowKey;
use crate::flow::table::FlowTable;

/// `id` of each flow: its place in the order of the report.
pub(crate) struct FlowIds {
    by_place: HashMap<u32, u32, FixedState>,
}

impl FlowIds {
    /// Numbers the flows of a table.
    pub(super) fn new(flows: &FlowTable) -> Self {
        Self { by_place: flows.in_order().into_iter().zip(0..).collect() }
    }

    /// The `id` of the flow at place `at` of the table.
    pub(crate) fn of(&self, at: u32) -> Option<u32> {
        self.by_place.get(&at).copied()
    }

    /// The `id`s by key and epoch.
    pub(super) fn by_key(&self, flows: &FlowTable) -> HashMap<(FlowKey, u32), u32, FixedState> {
        let names = flows.flows().iter().map(|flow| (flow.key, flow.epoch));
        (0..).zip(names).filter_map(|(at, name)| Some((name, self.of(at)?))).collect()
    }
}
