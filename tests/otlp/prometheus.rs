//! A real Prometheus takes what `analyze --otlp` sends, holds the same numbers as the text that it would
//! scrape, and answers the documented queries.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::Instant;

use railscope::metrics::queries;
use serde_json::Value;

use super::{PATIENCE, free_port, get, railscope};
use crate::cli::railscope_on;
use crate::support::receivers;
use crate::support::recording::Recording;

struct Prometheus {
    child: Child,
    port: u16,
    _data: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(test: &str) -> Option<Self> {
        let mut program = receivers::prometheus(test)?;
        let data = tempfile::tempdir().unwrap();
        let port = free_port();
        let config = data.path().join("prometheus.yml");
        std::fs::write(&config, "storage:\n  tsdb:\n    out_of_order_time_window: 30m\n").unwrap();
        let child = program
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", data.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--enable-feature=otlp-write-receiver")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let one = Self { child, port, _data: data };
        let start = Instant::now();
        while get(port, "/-/ready").is_none() {
            assert!(start.elapsed() < PATIENCE, "Prometheus does not start");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Some(one)
    }

    /// The answer to a query at a time in seconds: values by series.
    fn ask(&self, query: &str, time: f64) -> Vec<Value> {
        let query: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let path = format!("/api/v1/query?query={query}&time={time}");
        let answer = get(self.port, &path).unwrap_or_else(|| panic!("{path}"));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], "success", "{answer}");
        answer["data"]["result"].as_array().unwrap().clone()
    }
}

/// A series by its name and its own labels.
fn series(labels: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    // Those that Prometheus makes of the resource are not ours.
    labels.into_iter().filter(|(name, _)| !["job", "instance"].contains(&name.as_str())).collect()
}

/// Series and values of a text; what its labels have needs no care for escapes.
fn text_samples(text: &str) -> Vec<(BTreeMap<String, String>, f64)> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (of, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = of.split_once('{').unwrap_or((of, ""));
            let labels = labels.trim_end_matches('}').split("\",").filter(|one| !one.is_empty());
            let labels = labels.map(|one| {
                let (name, value) = one.split_once("=\"").unwrap();
                (name.to_owned(), value.trim_end_matches('"').to_owned())
            });
            let name = ("__name__".to_owned(), name.to_owned());
            (series(labels.chain([name])), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn prometheus_holds_what_was_sent_and_answers_the_documented_queries() {
    let test = "prometheus_holds_what_was_sent_and_answers_the_documented_queries";
    let Some(prometheus) = Prometheus::start(test) else { return };
    let job = Recording::unpack("async-straggler-2.27.5");
    let url = format!("http://127.0.0.1:{}/api/v1/otlp", prometheus.port);
    let variables = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_LOGS_EXPORTER", "none")];
    let mut command = railscope(&["analyze", "--otlp", &url], &variables);
    let output = command.args(job.captures()).current_dir(job.folder()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.ends_with("points, 0 spans, 0 log records\n"), "{said}");

    let report = railscope_on(&job, &["analyze", "--format", "json"]).succeeds();
    let capture = &serde_json::from_str::<Value>(&report).unwrap()["capture"];
    let origin: u64 = capture["origin_ns"].as_str().unwrap().parse().unwrap();
    let end_ns = origin + capture["duration_ns"].as_u64().unwrap();
    // Prometheus counts milliseconds.
    let end = end_ns.div_ceil(1_000_000) as f64 / 1e3;
    let text = railscope_on(&job, &["analyze", "--format", "prometheus"]).succeeds();
    let expected = text_samples(&text);
    assert!(expected.len() > 100);
    let held = prometheus.ask("{__name__=~\"(nccl|rdma|railscope)_.+\"}", end);
    let held: Vec<(BTreeMap<String, String>, f64)> = held
        .iter()
        .map(|sample| {
            let labels = sample["metric"].as_object().unwrap().iter();
            let labels =
                labels.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
            (series(labels), sample["value"][1].as_str().unwrap().parse().unwrap())
        })
        .collect();
    assert_eq!(held.len(), expected.len());
    for (series, value) in &expected {
        let known = held.iter().find(|(known, _)| known == series);
        let known = known.unwrap_or_else(|| panic!("{series:?} is not there"));
        assert_eq!(known.1, *value, "{series:?}");
    }
    for query in queries::ALL {
        let answer = prometheus.ask(query.promql, end);
        // Of the capture's own time; flows and ports have their one point at its end.
        let has_answer = ["training step", "rank is late", "collectives", "wrong"];
        if has_answer.iter().any(|asked| query.question.contains(asked)) {
            assert!(!answer.is_empty(), "{}: nothing for {}", query.question, query.promql);
        }
    }
}
