//! The flows that `analyze` shows: those that the options name, with a packet that the filter selects.

use std::collections::BTreeSet;

use anyhow::ensure;

use super::filter::FilterArgs;
use super::input::{CaptureSink, Input, InputArgs, warn};
use super::notice::notice;
use super::progress::InputProgress;
use super::unmatched::Unmatched;
use crate::filter::{Filter, Knowledge, Subject};
use railscope_core::decode::frame;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Analysed;
use railscope_core::report::flows::FlowReport;
use railscope_core::report::words::number::{count, counted};
use railscope_core::report::{Detail, Report, ReportContext};

/// Which flows are shown.
pub(super) struct FlowSelection<'a> {
    args: &'a FilterArgs,
    /// With a selected packet; `None` without a filter.
    selected: Option<BTreeSet<u32>>,
}

impl<'a> FlowSelection<'a> {
    /// Reads the captures of `analysed` once more if there is a filter. The filter is checked before
    /// they are read for the first time.
    ///
    /// # Errors
    ///
    /// When the captures cannot be read twice.
    pub(super) fn new(
        args: &'a FilterArgs,
        filter: Option<Filter>,
        input: &InputArgs,
        config: FlowConfig,
        analysed: &Analysed,
    ) -> anyhow::Result<Self> {
        let Some(filter) = filter else { return Ok(Self { args, selected: None }) };
        // Packets belong to collectives by their messages.
        let context = ReportContext { detail: Detail::Full, ..ReportContext::default() };
        let knowledge = Knowledge::new(&Report::new(&analysed.understanding, &context), config);
        let mut search = Search {
            filter,
            knowledge,
            selected: BTreeSet::new(),
            packets: 0,
            packets_selected: 0,
        };
        Input::open(input)?.read(InputProgress::new(), &mut search)?;
        search.notice(analysed.report.flows.len());
        Ok(Self { args, selected: Some(search.selected) })
    }

    /// Whether all flows are shown because nothing says otherwise.
    pub(super) fn is_all(&self) -> bool {
        self.args.options().next().is_none()
    }

    /// Whether a flow is shown.
    pub(super) fn shows(&self, flow: &FlowReport) -> bool {
        self.selected.as_ref().is_none_or(|selected| selected.contains(&flow.id))
            && self.args.shows_flow(flow)
    }

    /// Warns if the options match no flow.
    pub(super) fn warn_of_no_match(&self, report: &Report) {
        let mut unmatched = Unmatched::default();
        for flow in &report.flows {
            unmatched.add_flow(flow, self.args.shows_flow(flow), self.args);
        }
        if let Some(warning) = unmatched.warning("flows", self.args) {
            warn(&InputProgress::hidden(), &warning);
        }
    }
}

impl FilterArgs {
    /// The filter, if `input` can be read twice, as it must be for one.
    ///
    /// # Errors
    ///
    /// When it is none, or the captures are missing or come through a pipe.
    pub(super) fn filter_of_flows(&self, input: &InputArgs) -> anyhow::Result<Option<Filter>> {
        let Some(filter) = self.filter()? else { return Ok(None) };
        ensure!(!input.files.is_empty(), "--filter selects packets: name captures (FILE...)");
        input.check_read_twice()?;
        Ok(Some(filter))
    }
}

/// Looks for flows with a packet that is selected.
struct Search {
    filter: Filter,
    knowledge: Knowledge,
    selected: BTreeSet<u32>,
    packets: u64,
    packets_selected: u64,
}

impl Search {
    /// Says what the filter selects, which no table shows.
    fn notice(&self, flows: usize) {
        if self.packets_selected == 0 {
            warn(&InputProgress::hidden(), &self.filter.selects_nothing());
            return;
        }
        let all = counted(self.packets, "packet");
        let flows = counted(flows as u64, "flow");
        let (some, of) = (count(self.packets_selected), count(self.selected.len() as u64));
        notice(format!("filter: {some} of {all} selected, {of} of {flows} shown"));
    }
}

impl CaptureSink for Search {
    fn tap(&mut self, tap: Tap) {
        self.knowledge.add_tap(tap);
    }

    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()> {
        let packet = frame::decode(frame);
        let context = self.knowledge.observe(frame, &packet, origin);
        self.packets += 1;
        if self.filter.selects(&Subject { frame, packet: &packet, origin, context }) {
            self.packets_selected += 1;
            self.selected.extend(context.flow);
        }
        Ok(())
    }

    fn host_name(&mut self, _: HostName) {}

    fn lost_frames(&mut self, _: TapId, _: u64) {}

    fn observed_until(&mut self, _: TapId, _: Timestamp) {}

    fn missed(&mut self, _: HealthEvent, _: u64) {}
}
