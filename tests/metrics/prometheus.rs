//! The text as the official Python parser reads it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;

use railscope::export::prometheus;
use railscope_core::metrics::metric::{Instrument, Metric};
use railscope_core::metrics::point::{Attributes, Distribution, Point, Value};
use railscope_core::metrics::{catalog, queries};
use railscope_core::model::time::Timestamp;
use railscope_testbed::clock::eventually;
use railscope_testbed::prometheus as scraper;
use serde_json::Value as Json;

use crate::cli::railscope_on;
use crate::support::receivers;
use crate::support::recording::Recording;
use crate::support::samples::{hold_the_same, samples};

/// Name, labels, value and type of each sample; `None` if the parser is not available.
fn parsed(test: &str, text: &str) -> Option<Vec<(String, Json, f64, String)>> {
    let mut python = receivers::python(test, "prometheus_client")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/prometheus_text.py");
    python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn point(metric: &'static Metric, of: &[&str], value: Value) -> Point {
    let names = metric.attributes.iter().map(|attribute| attribute.name);
    let attributes = Attributes::new(names.zip(of.iter().map(|value| (*value).to_owned())));
    Point { metric, attributes, start: Timestamp::EPOCH, time: Timestamp::EPOCH, value }
}

/// A point of the metric with made-up attributes.
fn point_of(metric: &'static Metric) -> Point {
    let value = match metric.instrument {
        Instrument::Histogram(bounds) => Value::Distribution(Distribution::new(bounds)),
        Instrument::Counter | Instrument::Gauge => Value::Number(1),
    };
    point(metric, &vec!["a"; metric.attributes.len()], value)
}

#[test]
fn nothing_is_lost_on_the_way() {
    let test = "nothing_is_lost_on_the_way";
    let mut lags = Distribution::new(&[1_000_000, 1_500_000_000]);
    [500_000, 1_500_000_000, 3_000_000_001].into_iter().for_each(|lag| lags.add(lag));
    let odd = "a \"quoted\" \\ back\\nslash\nand a line, {curly}=\u{e9}";
    let points = [
        point(&catalog::STRAGGLER_LAG, &["loss"], Value::Distribution(lags)),
        point(&catalog::SOURCE_VISIBLE, &["ebpf", "eth0", odd], Value::Number(0)),
        point(&catalog::PFC_PAUSED_TIME, &["s", "3", "frames"], Value::Number(1)),
        point(&catalog::FLOW_IO, &["mlx5_0", "receive"], Value::Number(u64::from(u32::MAX) + 7)),
    ];
    let mut text = Vec::new();
    prometheus::write(&points, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let Some(samples) = parsed(test, &text) else { return };
    let of = |name: &str| -> Vec<(&Json, f64)> {
        let samples = samples.iter().filter(|(known, ..)| known == name);
        samples.map(|(_, labels, value, _)| (labels, *value)).collect()
    };
    let buckets = of("nccl_straggler_lag_seconds_bucket");
    let buckets: Vec<_> =
        buckets.iter().map(|(labels, value)| (labels["le"].as_str().unwrap(), *value)).collect();
    assert_eq!(buckets, [("0.001", 1.0), ("1.5", 2.0), ("+Inf", 3.0)]);
    assert_eq!(of("nccl_straggler_lag_seconds_sum")[0].1, 4.500_500_001);
    assert_eq!(of("nccl_straggler_lag_seconds_count")[0].1, 3.0);
    assert_eq!(of("railscope_source_visible")[0].0["railscope_reason"], odd);
    assert_eq!(of("rdma_pfc_paused_time_seconds_total")[0].1, 1e-9);
    assert_eq!(of("rdma_flow_io_bytes_total")[0].1, 4_294_967_302.0);
}

#[test]
fn a_recorded_job_is_scraped() {
    let test = "a_recorded_job_is_scraped";
    let job = Recording::unpack("async-straggler-2.27.5");
    let text = railscope_on(&job, &["analyze", "--format", "prometheus"]).succeeds();
    assert_eq!(text, railscope_on(&job, &["analyze", "--format", "prometheus"]).succeeds());
    let report = railscope_on(&job, &["analyze", "--format", "json"]).succeeds();
    let report: Json = serde_json::from_str(&report).unwrap();
    let Some(samples) = parsed(test, &text) else { return };
    let total = |name: &str| -> f64 {
        samples.iter().filter(|(known, ..)| known == name).map(|(_, _, value, _)| value).sum()
    };
    let iterations = report["iterations"].as_array().unwrap();
    let complete = iterations.iter().filter(|one| one["complete"] == true);
    let span = |one: &Json| one["end_ns"].as_i64().unwrap() - one["start_ns"].as_i64().unwrap();
    let seconds = complete.clone().map(span).sum::<i64>() as f64 / 1e9;
    assert!(complete.clone().count() > 3);
    assert_eq!(total("nccl_training_step_duration_seconds_count"), complete.count() as f64);
    assert_eq!(total("nccl_training_step_duration_seconds_sum"), seconds);
    let late = iterations.iter().filter(|one| !one["straggler"].is_null()).count();
    assert_eq!(total("nccl_training_step_stragglers_total"), late as f64);
    let collectives = report["collectives"].as_array().unwrap().len();
    assert_eq!(total("nccl_collective_duration_seconds_count"), collectives as f64);
    let frames: u64 =
        report["taps"].as_array().unwrap().iter().map(|tap| tap["frames"].as_u64().unwrap()).sum();
    assert_eq!(total("railscope_tap_frames_total"), frames as f64);
    // Without pause data there are no pause series, not even with 0.
    assert!(!text.contains("rdma_pfc"), "{text}");
    assert!(!text.contains("nccl_training_step_paused_time"), "{text}");
    let unknown = total("railscope_training_step_unknown_total");
    assert!(unknown >= iterations.len() as f64);
}

#[test]
fn promtool_has_nothing_to_complain_of() {
    let test = "promtool_has_nothing_to_complain_of";
    let job = Recording::unpack("async-straggler-2.27.5");
    let text = railscope_on(&job, &["analyze", "--format", "prometheus"]).succeeds();
    // And all metrics that no capture has.
    let all: Vec<Point> = catalog::all().map(point_of).collect();
    let mut every = Vec::new();
    prometheus::write(&all, &mut every).unwrap();
    for text in [text.into_bytes(), every] {
        let Some(mut promtool) = receivers::promtool(test) else { return };
        promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = promtool.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&text).unwrap();
        let output = child.wait_with_output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && complaints.is_empty(), "{complaints}");
    }
}

/// Serves `text` over HTTP; returns the address.
fn serve(text: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let kind = prometheus::CONTENT_TYPE;
            let length = text.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{text}"
            );
        }
    });
    address
}

#[test]
fn a_real_prometheus_scrapes_it_and_answers_the_documented_queries() {
    let test = "a_real_prometheus_scrapes_it_and_answers_the_documented_queries";
    if !receivers::has_prometheus(test) {
        return;
    }
    let job = Recording::unpack("async-straggler-2.27.5");
    let text = railscope_on(&job, &["analyze", "--format", "prometheus"]).succeeds();
    let targets = [serve(text.clone())];
    let data = tempfile::tempdir().unwrap();
    let data_base = scraper::start(data.path(), scraper::Setup::of("500ms", &targets));
    // Rates need several scrapes.
    eventually("it was scraped four times", || {
        let scrapes = "count_over_time(nccl_training_step_incomplete_total[1m]) > 3";
        !data_base.ask(scrapes, None).is_empty()
    });
    let held = data_base.ask("{__name__=~\"(nccl|rdma|railscope)_.+\"}", None);
    hold_the_same(&held, &samples(&text));
    for query in queries::ALL {
        data_base.ask(query.promql, None);
    }
}
