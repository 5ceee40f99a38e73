//! Outputs of other tools, as people paste them: what is read, and what is found in it.

mod devices;
mod every;
mod fabric;
mod measurements;
mod paste;
mod ports;
mod qos;
mod switches;
mod wild;

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Report, ReportContext};

/// The report of texts, each as a file of its own.
fn reports(texts: &[&str]) -> Report {
    let flow = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(1) });
    for (at, text) in texts.iter().enumerate() {
        let log = pipeline.add_log(format!("{at}.txt"));
        for (number, line) in (1..).zip(text.lines()) {
            pipeline.handle_log_line(log, number, line.as_bytes());
        }
    }
    pipeline.finish(ReportContext::default())
}

fn report(text: &str) -> Report {
    reports(&[text])
}

/// Titles of the findings with this name.
fn titles(report: &Report, id: &str) -> Vec<String> {
    let own = report.findings.iter().filter(|finding| finding.id == id);
    own.map(|finding| finding.title.clone()).collect()
}

/// The only one.
fn title(text: &str, id: &str) -> String {
    let mut found = titles(&report(text), id);
    assert_eq!(found.len(), 1, "{id}: {found:?}");
    found.remove(0)
}

/// Names of all findings.
fn names(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id).collect()
}
