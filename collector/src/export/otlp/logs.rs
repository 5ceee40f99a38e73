//! Verdicts and findings as log records, with evidence and remedy.

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
use railscope_core::report::news::ReportNews;
use railscope_core::report::verdicts::VerdictReport;

/// The records of what is new in `report`, as requests, verdicts first; `observed` is when it was
/// found.
#[must_use]
pub fn batches(
    report: &Report,
    news: &ReportNews<'_>,
    observed: Timestamp,
    resource: &Resource,
) -> Vec<Batch> {
    let verdicts = news.verdicts.iter().map(|verdict| of_verdict(report, verdict, observed));
    let findings = news.findings.iter().map(|finding| record(report, finding, observed));
    let records: Vec<LogRecord> = verdicts.chain(findings).collect();
    let batch = |records: &[LogRecord]| {
        let request = ExportLogsServiceRequest {
            resource_logs: vec![ResourceLogs {
                resource: Some(resource.to_proto()),
                scope_logs: vec![ScopeLogs {
                    scope: Some(resource::scope()),
                    log_records: records.to_vec(),
                    schema_url: String::new(),
                }],
                schema_url: String::new(),
            }],
        };
        Batch::new(Signal::Logs, records.len(), &request)
    };
    records.chunks(ITEMS).map(batch).collect()
}

fn of_verdict(report: &Report, verdict: &VerdictReport, observed: Timestamp) -> LogRecord {
    let subject = &verdict.subject;
    let titles = |places: &[usize]| -> Vec<String> {
        let findings = places.iter().filter_map(|at| report.findings.get(*at));
        findings.map(|finding| finding.title.clone()).collect()
    };
    let mut attributes = Attributes::default();
    attributes
        .text("railscope.verdict", verdict.id)
        .text("railscope.verdict.severity", verdict.severity)
        .text("railscope.verdict.remedy", verdict.remedy.as_str())
        .texts("railscope.verdict.shown_by", titles(&verdict.findings))
        .texts("railscope.verdict.explains", titles(&verdict.explains))
        .known_text("railscope.verdict.alternative", verdict.alternatives.first().copied())
        .known_text("railscope.verdict.direction", subject.direction)
        .known("railscope.verdict.cost_ns", verdict.cost_ns)
        .text("railscope.grade", verdict.grade)
        .known_text("host.name", subject.host.as_deref())
        .known_text("nccl.communicator.id", subject.communicator.as_deref())
        .known("nccl.rank", subject.rank)
        .known_text("rdma.port", subject.port.as_deref())
        .known_text("rdma.peer_port", subject.peer_port.as_deref());
    let since = verdict.since_ns.map_or(observed, |since_ns| report.capture.time(since_ns));
    LogRecord {
        time_unix_nano: since.as_nanos(),
        observed_time_unix_nano: observed.as_nanos(),
        severity_number: severity(verdict.severity) as i32,
        severity_text: verdict.severity.to_owned(),
        body: Some(AnyValue { value: Some(Value::StringValue(verdict.title.clone())) }),
        attributes: attributes.take(),
        event_name: format!("railscope.verdict.{}", verdict.id),
        ..LogRecord::default()
    }
}

fn record(report: &Report, finding: &FindingReport, observed: Timestamp) -> LogRecord {
    let subject = &finding.subject;
    let explained_by = finding.explained_by.and_then(|at| Some(report.verdicts.get(at)?.id));
    let mut attributes = Attributes::default();
    attributes
        .text("railscope.finding", finding.id)
        .text("railscope.finding.severity", finding.severity)
        .known_text("railscope.finding.cause", finding.cause)
        .text("railscope.finding.remedy", finding.remedy)
        .texts("railscope.finding.evidence", finding.evidence.iter().map(evidence))
        .known_text("railscope.finding.explained_by", explained_by)
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
