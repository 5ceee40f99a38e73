//! `drive --otlp`: the driver's own spans, in the traces that railscope makes of its packets.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{Receiver, items, railscope};
use crate::support::clock::duration_of;
use crate::support::traces::{JOB, collectives, spans_of};

/// A short training job.
const TRAINING: &[&str] = &[
    "drive",
    "--ranks",
    "4",
    "--iterations",
    "3",
    "--buckets",
    "256KiB,64KiB",
    "--compute",
    "20ms",
];

/// Times of one machine's kernel and processes.
const SLACK_NS: u64 = 1_000_000;

/// Runs a job; returns its standard error.
fn drive(options: &[&str], variables: &[(&str, &str)]) -> String {
    let output = railscope(TRAINING, variables).args(options).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

fn records(truth: &Path, record: &str) -> Vec<Value> {
    let text = fs::read_to_string(truth).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|value| value["record"] == record).collect()
}

#[test]
fn a_jobs_spans_are_in_the_traces_of_its_packets() {
    let test = "a_jobs_spans_are_in_the_traces_of_its_packets";
    for protocol in ["http/protobuf", "grpc"] {
        let Some(receiver) = Receiver::start(test, &[]) else { return };
        let url = receiver.url(protocol);
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().to_str().unwrap();
        let by_variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ];
        let said = if protocol == "grpc" {
            drive(&["--record", record], &by_variables)
        } else {
            drive(&["--record", record, "--otlp", &url], &[])
        };
        // 4 ranks, a warm-up and 3 steps: step, compute and 2 collectives each.
        assert_eq!(said, "otlp: sent 64 spans\n");
        let only = [("OTEL_EXPORTER_OTLP_PROTOCOL", protocol), ("OTEL_METRICS_EXPORTER", "none")];
        let captures = (0..4).map(|rank| format!("{record}/rank{rank}.pcap"));
        let mut analyze = railscope(&["analyze", "--otlp", &url], &only);
        assert!(analyze.args(captures).output().unwrap().status.success());
        let requests = receiver.requests();
        for one in requests.iter().filter(|one| one["resource"]["service.name"] == JOB) {
            if protocol == "grpc" {
                assert_eq!(one["headers"]["authorization"], "Bearer secret");
                assert_eq!(one["resource"]["deployment.environment.name"], "test");
            }
            assert_eq!(one["protocol"], protocol.split('/').next().unwrap());
        }
        let traces = collectives(&requests);
        assert_eq!(traces.len(), 8, "one trace per collective");
        for trace in traces.values() {
            trace.check(4, SLACK_NS);
        }
        let spans = spans_of(&requests, JOB);
        check_truth(&spans, &folder.path().join("truth.jsonl"));
        check_links(&spans);
        check_metrics(&requests);
    }
}

/// Begin and end of every span are those of the truth file, to the nanosecond.
fn check_truth(spans: &[Value], truth: &Path) {
    let of = |name: &str| -> BTreeSet<(u64, u64, u64)> {
        let of_name = spans.iter().filter(|span| span["name"] == name);
        let times = of_name.map(|span| {
            let rank = span["attributes"]["nccl.rank"].as_u64().unwrap();
            (rank, span["start"].as_u64().unwrap(), span["end"].as_u64().unwrap())
        });
        times.collect()
    };
    let true_ones = |record: &str| -> BTreeSet<(u64, u64, u64)> {
        let number = |record: &Value, key: &str| record[key].as_u64().unwrap();
        let all = records(truth, record).into_iter();
        all.map(|one| (number(&one, "rank"), number(&one, "start_ns"), number(&one, "end_ns")))
            .collect()
    };
    assert_eq!(of("compute"), true_ones("compute"));
    assert_eq!(of("ncclAllReduce"), true_ones("call"));
    let hosts = records(truth, "rank");
    for span in spans {
        let attributes = &span["attributes"];
        let host = hosts.iter().find(|host| host["rank"] == attributes["nccl.rank"]).unwrap();
        assert_eq!(attributes["host.name"], host["host"]);
        assert_eq!(attributes["process.pid"], host["pid"]);
    }
    let sizes = records(truth, "collective").into_iter();
    for (sequence, bytes, iteration) in
        sizes.map(|one| (one["sequence"].clone(), one["bytes"].clone(), one["iteration"].as_u64()))
    {
        let is_it = |span: &&Value| span["attributes"]["nccl.collective.sequence"] == sequence;
        for span in spans.iter().filter(is_it) {
            assert_eq!(span["attributes"]["nccl.collective.size"], bytes);
            let label = span["attributes"]["nccl.training_step.label"].as_str();
            assert_eq!(label.map(|label| label.parse().unwrap()), iteration);
            let is_warmup = span["attributes"]["drive.is_measured"] == false;
            assert_eq!(is_warmup, iteration.is_none());
        }
    }
}

/// A training step has a trace of its own, and its collectives and it link to each other.
fn check_links(spans: &[Value]) {
    let at = |span: &Value| [span["trace"].clone(), span["span"].clone()];
    let of = |name: &'static str| spans.iter().filter(move |span| span["name"] == name);
    for iteration in of("training step") {
        assert_eq!(iteration["parent"], "");
        let inner: Vec<&Value> =
            of("compute").filter(|one| one["trace"] == iteration["trace"]).collect();
        assert!(inner.len() == 1 && inner[0]["parent"] == iteration["span"]);
        let calls: Vec<&Value> = of("ncclAllReduce")
            .filter(|call| call["links"][0] == Value::from(at(iteration).to_vec()))
            .collect();
        let back: Vec<Value> = calls.iter().map(|call| Value::from(at(call).to_vec())).collect();
        assert_eq!(iteration["links"], Value::from(back));
        assert_eq!(calls.len(), 2);
        assert_eq!(iteration["start"], inner[0]["start"]);
        assert_eq!(iteration["end"], calls[1]["end"]);
    }
    assert_eq!(of("training step").count(), 16);
}

/// The last values: 3 measured steps of 2 collectives, by rank.
fn check_metrics(requests: &[Value]) {
    let points = items(requests, "metrics");
    let of = |name: &str| points.iter().filter(|point| point["name"] == name).collect::<Vec<_>>();
    let count = |point: &Value| point["counts"].as_array().unwrap().iter().map(number).sum::<u64>();
    for (name, counted) in [("drive.training_step.duration", 3), ("drive.collective.duration", 6)] {
        let points = of(name);
        assert_eq!(points.len(), 4, "{name}");
        assert!(points.iter().all(|point| point["unit"] == "s" && count(point) == counted));
    }
    let io = of("drive.collective.io");
    assert_eq!(io.len(), 4);
    assert!(io.iter().all(|point| point["value"] == 3 * (320 << 10) && point["unit"] == "By"));
    assert!(of("drive.compute.time").iter().all(|point| point["value"].as_f64().unwrap() > 0.06));
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn a_receiver_that_is_absent_or_silent_changes_nothing() {
    // It accepts connections, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    for (url, why) in [("http://127.0.0.1:9", "Connection refused"), (&silent, "did not answer")] {
        for protocol in ["http/protobuf", "grpc"] {
            let json = folder.path().join("table.json");
            let options = ["--otlp", url, "-J", json.to_str().unwrap()];
            let mut said = String::new();
            let variables = [("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)];
            let took = duration_of(|| said = drive(&options, &variables));
            assert!(took < Duration::from_secs(40), "{took:?}");
            let lost = "otlp: 64 of 64 spans and the metrics were not delivered: ";
            assert!(said.starts_with(lost), "{url} {protocol}: {said}");
            // The SDK does not say why a gRPC connection failed in words of its own.
            assert!(protocol == "grpc" || said.contains(why), "{said}");
            let table: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
            assert_eq!(
                (&table["ended"], &table["out_of_bounds"]["count"]),
                (&"done".into(), &0.into())
            );
        }
    }
}

#[test]
fn settings_that_are_wrong_are_refused_before_the_job() {
    let refused = |url: &str, variables: &[(&str, &str)]| {
        let output = railscope(TRAINING, variables).args(["--otlp", url]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty(), "the job began");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("http://[collector", &[]);
    assert!(said.contains("error: report to OpenTelemetry: "), "{said}");
    let said = refused("collector:4318", &[]);
    assert!(said.contains("error: collector:4318: write http://host:port"), "{said}");
    let said = refused("http://c", &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]);
    assert!(said.contains("use grpc or http/protobuf"), "{said}");
    let said = refused("http://c", &[("OTEL_TRACES_EXPORTER", "jaeger")]);
    assert!(said.contains("use otlp or none"), "{said}");
}
