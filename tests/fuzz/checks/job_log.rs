//! A whole log of a job, judged: any bytes, as one log.

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let flow = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(1) });
    let log = pipeline.add_log("job.log");
    let mut lines = 0;
    for (number, line) in (1..).zip(data.split(|byte| *byte == b'\n')) {
        pipeline.handle_log_line(log, number, line);
        lines = number;
    }
    let report = pipeline.finish(ReportContext::default());
    for finding in &report.findings {
        for shown in &finding.evidence {
            assert!(shown.line.is_none_or(|line| (1..=lines).contains(&line)), "{shown:?}");
        }
        assert!(!finding.title.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
    }
    let places = 0..report.findings.len();
    for verdict in &report.verdicts {
        let mut rests = verdict.findings.iter().chain(&verdict.explains);
        assert!(rests.all(|at| places.contains(at)), "{verdict:?}");
    }
}
