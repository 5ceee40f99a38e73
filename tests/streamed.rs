//! A report whose rows are made while it is written is the one in memory, byte for byte.

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::pipeline::PipelineConfig;
use railscope_core::report::{Detail, Report, ReportContext, StreamedReport};

use crate::metrics::understand;
use crate::support::fixture;
use crate::support::recording::Recording;

#[test]
fn rows_are_the_same() {
    let job = Recording::unpack("ring-2.27.5");
    let taps = job.captures().into_iter().map(|name| job.folder().join(name)).collect();
    let fabric = ["A", "B", "C", "D"].map(|port| format!("ring4_allreduce_p{port}.pcap.gz"));
    let inputs = [
        vec![fixture::path("loss1_send_bw_post.pcap.gz")],
        fabric.iter().map(|name| fixture::path(name)).collect(),
        taps,
        Vec::new(),
    ];
    let flow = FlowConfig { flow_capacity: 10_000, line_rate_bps: None, keeps_details: true };
    let config = PipelineConfig { flow, message_capacity: Some(1 << 20) };
    for files in inputs {
        let understanding = understand(config, &files);
        for detail in [Detail::Summary, Detail::Events, Detail::Full] {
            let context = ReportContext { detail, ..Default::default() };
            let built = serde_json::to_string(&Report::new(&understanding, &context)).unwrap();
            let streamed = StreamedReport::stream(&understanding, &context, |report| {
                serde_json::to_string(report)
            });
            assert!(built == streamed.unwrap(), "{files:?}, {detail:?}");
        }
    }
}
