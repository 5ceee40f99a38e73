//! Findings as log records, with evidence and remedy.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};

use super::attributes::Attributes;
use super::batch::{Batch, ITEMS, Signal};
use super::resource::{self, Resource};
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::evidence::EvidenceReport;
use railscope_core::report::findings::FindingReport;

/// The records of `findings` of `report`, as requests; `observed` is when they were found.
#[must_use]
pub fn batches(
    report: &Report,
    findings: &[&FindingReport],
    observed: Timestamp,
    resource: &Resource,
) -> Vec<Batch> {
    let batch = |findings: &[&FindingReport]| {
        let records = findings.iter().map(|finding| record(report, finding, observed));
        let request = ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                resource: Some(resource.to_proto()),
                scope_logs: vec![ScopeLogs {
                    scope: Some(resource::scope()),
                    log_records: records.collect(),
                    schema_url: String::new(),
                }],
                schema_url: String::new(),
            }],
        };
        Batch::new(Signal::Logs, findings.len(), &request)
    };
    findings.chunks(ITEMS).map(batch).collect()
}

fn record(report: &Report, finding: &FindingReport, observed: Timestamp) -> LogRecord {
    let subject = &finding.subject;
    let mut attributes = Attributes::default();
    attributes
        .text("railscope.finding", finding.id)
        .text("railscope.finding.severity", finding.severity)
        .known_text("railscope.finding.cause", finding.cause)
        .text("railscope.finding.remedy", finding.remedy)
        .texts("railscope.finding.evidence", finding.evidence.iter().map(evidence))
        .text("railscope.grade", finding.grade)
        .known_text("nccl.communicator.id", subject.communicator.as_deref())
        .known("nccl.rank", subject.rank)
        .known_text("rdma.port", subject.port.as_deref())
        .known("nccl.training_step.number", subject.iteration);
    if let Some(flow) = subject.flow.and_then(|id| report.flow(id)) {
        attributes
            .text("source.address", flow.src.as_str())
            .text("destination.address", flow.dst.as_str())
            .number("rdma.flow.dest_qpn", flow.dest_qpn);
    }
    let first = finding.first_ns.map_or(observed, |first_ns| report.capture.time(first_ns));
    LogRecord {
        time_unix_nano: first.as_nanos(),
        observed_time_unix_nano: observed.as_nanos(),
        severity_number: severity(finding.severity) as i32,
        severity_text: finding.severity.to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(finding.title.clone())) }),
        attributes: attributes.take(),
        event_name: format!("railscope.finding.{}", finding.id),
        ..LogRecord::default()
    }
}

fn severity(name: &str) -> SeverityNumber {
    match name {
        "critical" => SeverityNumber::Error,
        "warning" => SeverityNumber::Warn,
        _ => SeverityNumber::Info,
    }
}

/// `capture.pcap frame 12: ...`.
fn evidence(reason: &EvidenceReport) -> String {
    let source = reason.source.as_deref().map(|source| format!("{source} "));
    let frame = reason.frame.map(|frame| format!("frame {frame}"));
    let place = frame.or(reason.line.map(|line| format!("line {line}")));
    match (source, place) {
        (Some(source), Some(place)) => format!("{source}{place}: {}", reason.text),
        (Some(source), None) => format!("{}: {}", source.trim_end(), reason.text),
        _ => reason.text.clone(),
    }
}
