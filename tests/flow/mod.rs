//! The flow layer against simulated wires with exactly known truth.

mod pairs;
mod wire;

use railscope_core::flow::message::Message;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::flows::FlowReport;
use railscope_core::report::{Detail, Report, ReportContext};

use crate::support::pcap::FIRST_NS;
use crate::support::tap;

/// railscope's results for the frames of one tap.
struct Seen {
    report: Report,
    /// Messages with the queue pair that they went to.
    messages: Vec<(u32, Message)>,
}

/// Runs the pipeline over frames whose times start at 0.
fn see(frames: &[(u64, Vec<u8>)]) -> Seen {
    let flow = FlowConfig { flow_capacity: 1_000, line_rate_bps: None, keeps_details: true };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: None });
    pipeline.add_tap(tap::ethernet("wire"));
    let mut messages = Vec::new();
    for (number, (time_ns, bytes)) in (1..).zip(frames) {
        pipeline.handle_frame(&Frame {
            tap: TapId(0),
            number,
            time: Timestamp::from_nanos(FIRST_NS + time_ns),
            wire_len: bytes.len() as u32,
            bytes,
            link_type: LinkType::Ethernet,
            direction: None,
        });
        let ended = pipeline.drain_messages();
        messages.extend(ended.map(|event| (event.key.dest_qpn.value(), event.message)));
    }
    let context = ReportContext { detail: Detail::Full, ..Default::default() };
    Seen { report: pipeline.finish(context), messages }
}

impl Seen {
    /// The only flow to a queue pair.
    fn flow_to(&self, qpn: u32) -> &FlowReport {
        let mut flows = self.report.flows.iter().filter(|flow| flow.dest_qpn == qpn);
        let flow = flows.next().unwrap();
        assert!(flows.next().is_none(), "one epoch");
        flow
    }
}
