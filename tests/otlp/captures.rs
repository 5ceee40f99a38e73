//! `analyze --otlp`: a receiver gets the values of the report and of the Prometheus text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Receiver, items, railscope};
use crate::cli::railscope_on;
use crate::support::otlp_receiver::received;
use crate::support::recording::Recording;
use crate::support::samples::lines;

const JOB: &str = "async-straggler-2.27.5";

/// Runs `analyze --otlp` on the job; returns standard error and whether the run succeeded.
fn send(job: &Recording, url: &str, variables: &[(&str, &str)]) -> (String, bool) {
    let mut command = railscope(&["analyze", "--otlp", url], variables);
    let output = command.args(job.captures()).current_dir(job.folder()).output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.success())
}

/// The values of the Prometheus text, by name and labels.
fn scraped(job: &Recording) -> BTreeMap<String, f64> {
    let text = railscope_on(job, &["analyze", "--format", "prometheus"]).succeeds();
    lines(&text)
}

#[test]
fn by_either_protocol_the_numbers_are_those_of_prometheus_text() {
    let test = "by_either_protocol_the_numbers_are_those_of_prometheus_text";
    let job = Recording::unpack(JOB);
    let report = railscope_on(&job, &["analyze", "--format", "json"]).succeeds();
    let report: Value = serde_json::from_str(&report).unwrap();
    let origin: u64 = report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    let end = origin + report["capture"]["duration_ns"].as_u64().unwrap();
    for protocol in ["grpc", "http/protobuf"] {
        let Some(receiver) = Receiver::start(test, &[]) else { return };
        let variables = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret"),
            ("OTEL_SERVICE_NAME", "tests"),
            ("OTEL_RESOURCE_ATTRIBUTES", "host.name=node%2C7"),
        ];
        let (said, is_content) = send(&job, &receiver.url(protocol), &variables);
        assert!(is_content, "{said}");
        let requests = receiver.requests();
        for request in &requests {
            assert_eq!(request["headers"]["authorization"], "Bearer secret");
            assert_eq!(request["resource"]["service.name"], "tests");
            assert_eq!(request["resource"]["host.name"], "node,7");
            assert_eq!(request["protocol"], protocol.split('/').next().unwrap());
        }
        let points = items(&requests, "metrics");
        assert_eq!(received(&points), scraped(&job));
        for point in &points {
            let time = point["time"].as_u64().unwrap();
            assert!((origin..=end).contains(&time), "{point}");
            let start = if point["kind"] == "gauge" { 0 } else { origin };
            assert_eq!(point["start"], start, "{point}");
        }
        // Training steps have their own times, not all that of the end.
        let times: BTreeSet<u64> = points
            .iter()
            .filter(|point| point["name"] == "nccl.training_step.duration")
            .map(|point| point["time"].as_u64().unwrap())
            .collect();
        assert!(times.len() > 1, "{times:?}");
        let spans = check_spans(&report, &items(&requests, "traces"));
        let records = items(&requests, "logs");
        check_logs(&report, &records);
        let records = records.len();
        let sent =
            format!("otlp: sent {} points, {spans} spans, {records} log records\n", points.len());
        assert_eq!(said, sent);
    }
}

/// Checks one span per collective with a child span per rank; returns their number.
fn check_spans(report: &Value, spans: &[Value]) -> usize {
    let collectives = report["collectives"].as_array().unwrap();
    let ranks = collectives.iter().map(|one| one["ranks"].as_array().unwrap().len());
    assert_eq!(spans.len(), collectives.len() + ranks.sum::<usize>());
    let ids: BTreeSet<&str> = spans.iter().map(|span| span["span"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len(), "ids differ");
    let whole: BTreeMap<&str, &Value> = spans
        .iter()
        .filter(|span| span["parent"] == "")
        .map(|span| (span["span"].as_str().unwrap(), span))
        .collect();
    assert_eq!(whole.len(), collectives.len());
    for span in spans.iter().filter(|span| span["parent"] != "") {
        let parent = whole[span["parent"].as_str().unwrap()];
        assert_eq!(parent["trace"], span["trace"]);
        assert_eq!(parent["state"], "ot=th:0");
    }
    let with_straggler = |attributes: &str| {
        let late = whole.values().filter(|span| !span["attributes"][attributes].is_null());
        late.count()
    };
    let late = collectives.iter().filter(|one| !one["straggler"].is_null()).count();
    assert!(late > 0);
    assert_eq!(with_straggler("nccl.straggler.rank"), late);
    assert_eq!(with_straggler("nccl.straggler.evidence"), late);
    spans.len()
}

fn check_logs(report: &Value, records: &[Value]) {
    let findings = report["findings"].as_array().unwrap();
    let verdicts = report["verdicts"].as_array().unwrap().iter();
    let problems: Vec<&Value> = verdicts.filter(|one| one["severity"] != "info").collect();
    let (of_verdicts, of_findings) = records.split_at(problems.len());
    for (record, verdict) in of_verdicts.iter().zip(&problems) {
        assert_eq!(record["body"], verdict["title"]);
        assert_eq!(record["attributes"]["railscope.verdict"], verdict["id"]);
        assert_eq!(record["attributes"]["railscope.verdict.remedy"], verdict["remedy"]);
    }
    assert_eq!(of_findings.len(), findings.len());
    for (record, finding) in of_findings.iter().zip(findings) {
        assert_eq!(record["body"], finding["title"]);
        assert_eq!(record["attributes"]["railscope.finding"], finding["id"]);
        assert_eq!(record["attributes"]["railscope.finding.remedy"], finding["remedy"]);
        let evidence = record["attributes"]["railscope.finding.evidence"].as_array().unwrap();
        assert_eq!(evidence.len(), finding["evidence"].as_array().unwrap().len());
        let severity = match finding["severity"].as_str().unwrap() {
            "critical" => 17,
            "warning" => 13,
            _ => 9,
        };
        assert_eq!(record["severity"], severity);
    }
}

#[test]
fn a_share_of_traces_is_the_same_on_every_host() {
    let test = "a_share_of_traces_is_the_same_on_every_host";
    // Each host saw only its own end; both saw the bootstrap.
    let job = Recording::unpack("ring-2.27.5");
    let hosts: Vec<String> = job.captures();
    let traces = |files: &[String], ratio: &str| {
        let receiver = Receiver::start(test, &[])?;
        let variables = [
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", ratio),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_LOGS_EXPORTER", "none"),
        ];
        let mut command = railscope(&["analyze", "--otlp", &receiver.url("http")], &variables);
        let output = command.args(files).current_dir(job.folder()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let requests = receiver.requests();
        assert!(requests.iter().all(|request| request["signal"] == "traces"));
        let spans = items(&requests, "traces");
        let traces = spans.iter().map(|span| span["trace"].as_str().unwrap().to_owned());
        Some(traces.collect::<BTreeSet<String>>())
    };
    let Some(all) = traces(&hosts, "1") else { return };
    let some = traces(&hosts, "0.5").unwrap();
    assert!(some.len() < all.len() && some.is_subset(&all), "{} of {}", some.len(), all.len());
    assert!(traces(&hosts, "0").unwrap().is_empty());
    let host = |name: &str| -> Vec<String> {
        hosts.iter().filter(|file| file.starts_with(name)).cloned().collect()
    };
    let first = hosts.first().unwrap().split('.').next().unwrap().to_owned();
    let others: Vec<String> =
        hosts.iter().filter(|file| !file.starts_with(&first)).cloned().collect();
    let (one, rest) = (traces(&host(&first), "1").unwrap(), traces(&others, "1").unwrap());
    assert!(!one.is_empty() && one.is_subset(&all), "{one:?}");
    assert_eq!(rest, all, "two hosts derive the same ids independently");
}

#[test]
fn items_that_a_receiver_rejects_are_reported() {
    let test = "items_that_a_receiver_rejects_are_reported";
    let job = Recording::unpack(JOB);
    for protocol in ["grpc", "http/protobuf"] {
        let variables = [("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
        let Some(receiver) = Receiver::start(test, &["--reject", "2"]) else { return };
        let (said, is_content) = send(&job, &receiver.url(protocol), &variables);
        assert!(!is_content);
        assert!(said.contains("points were rejected by the receiver"), "{said}");
        assert!(said.contains("OTLP export incomplete: too old"), "{said}");
        drop(receiver.requests());
        let receiver = Receiver::start(test, &["--forbid"]).unwrap();
        let (said, is_content) = send(&job, &receiver.url(protocol), &variables);
        assert!(
            !is_content && said.contains("otlp: sent 0 points, 0 spans, 0 log records"),
            "{said}"
        );
        assert!(said.contains("spans failed and will not be retried"), "{said}");
        assert!(said.contains("not you"), "{said}");
    }
    let (said, is_content) = send(&job, "collector:4317", &[]);
    assert!(!is_content && said.contains("is not a URL"), "{said}");
}
