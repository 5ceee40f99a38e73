//! What the sections of a report are made from.

use super::context::ReportContext;
use super::flow_ids::FlowIds;
use crate::analysis::state::State;
use crate::analysis::understanding::Understanding;
use crate::link::rank_ports::RankPorts;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;
use crate::model::witness::LogId;

/// What sections are made from.
pub(crate) struct Sources<'a> {
    pub(crate) understanding: &'a Understanding,
    /// The understanding's state.
    pub(crate) state: &'a State,
    pub(crate) context: &'a ReportContext,
    pub(crate) origin: Timestamp,
    pub(crate) flow_ids: FlowIds,
    pub(crate) rank_ports: RankPorts,
}

impl<'a> Sources<'a> {
    pub(super) fn new(understanding: &'a Understanding, context: &'a ReportContext) -> Self {
        let state = &understanding.state;
        let counted = state.counters.nics.iter().map(|nic| nic.span.first).min();
        let origin = context.origin.or(understanding.start()).or(counted);
        let origin = origin.unwrap_or(Timestamp::EPOCH);
        let flow_ids = FlowIds::new(state.tracker.flows());
        let rank_ports = RankPorts::new(state.job.as_ref());
        Self { understanding, state, context, origin, flow_ids, rank_ports }
    }

    /// Nanoseconds from the origin to `time`, which is aligned; negative if a clock went backwards,
    /// or was ahead of its reference.
    pub(crate) fn relative_ns(&self, time: Timestamp) -> i64 {
        time.relative_to(self.origin)
    }

    /// `time` by the clock of `tap`, aligned.
    pub(crate) fn aligned(&self, tap: TapId, time: Timestamp) -> Timestamp {
        self.state.aligned(tap, time)
    }

    /// The same from the capture's origin.
    pub(crate) fn aligned_ns(&self, tap: TapId, time: Timestamp) -> i64 {
        self.relative_ns(self.aligned(tap, time))
    }

    /// The file of a tap.
    pub(crate) fn tap_file(&self, tap: TapId) -> Option<String> {
        Some(self.state.tracker.tap(tap)?.tap.file.clone())
    }

    /// The name of a file of NIC counters.
    pub(crate) fn counter_file(&self, file: u32) -> Option<String> {
        self.state.counters.files.get(file as usize).cloned()
    }

    /// The name of a log file.
    pub(crate) fn log_name(&self, log: LogId) -> Option<String> {
        let file = self.state.logs.files.get(log.0 as usize)?;
        Some(file.name.clone())
    }
}
