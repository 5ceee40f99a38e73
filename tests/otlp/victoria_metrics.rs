//! A real database accepts `analyze --otlp`, stores the same numbers as the text for scrapes, and
//! answers the documented queries.

use railscope_core::metrics::queries;
use railscope_testbed::data_base::{DataBase, free_port};
use serde_json::Value;

use super::railscope;
use crate::cli::railscope_on;
use crate::support::receivers;
use crate::support::recording::Recording;
use crate::support::samples::{hold_the_same, samples};

#[test]
fn a_data_base_holds_what_was_sent_and_answers_the_documented_queries() {
    let test = "a_data_base_holds_what_was_sent_and_answers_the_documented_queries";
    let Some(mut program) = receivers::victoria_metrics(test) else { return };
    let data = tempfile::tempdir().unwrap();
    let port = free_port();
    program
        .arg(format!("-storageDataPath={}", data.path().display()))
        .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
        .args(["-retentionPeriod=100y", "-opentelemetry.usePrometheusNaming"]);
    let data_base = DataBase::start(&mut program, port, "/health");
    let job = Recording::unpack("async-straggler-2.27.5");
    let url = format!("http://127.0.0.1:{port}/opentelemetry");
    let variables = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_LOGS_EXPORTER", "none")];
    let mut command = railscope(&["analyze", "--otlp", &url], &variables);
    let output = command.args(job.captures()).current_dir(job.folder()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.ends_with("points, 0 spans, 0 log records\n"), "{said}");
    data_base.get("/internal/force_flush").unwrap();

    let report = railscope_on(&job, &["analyze", "--format", "json"]).succeeds();
    let capture = &serde_json::from_str::<Value>(&report).unwrap()["capture"];
    let origin: u64 = capture["origin_ns"].as_str().unwrap().parse().unwrap();
    let end_ns = origin + capture["duration_ns"].as_u64().unwrap();
    // VictoriaMetrics has millisecond timestamps.
    let end = Some(end_ns.div_ceil(1_000_000) as f64 / 1e3);
    let text = railscope_on(&job, &["analyze", "--format", "prometheus"]).succeeds();
    let expected = samples(&text);
    assert!(expected.len() > 100);
    let held = data_base.ask("{__name__=~\"(nccl|rdma|railscope)_.+\"}", end);
    hold_the_same(&held, &expected);
    for query in queries::ALL {
        let answer = data_base.ask(query.promql, end);
        // These have the capture's own times; flows and ports have a single point at its end.
        let has_answer = ["training step", "rank is late", "collectives", "wrong"];
        if has_answer.iter().any(|asked| query.question.contains(asked)) {
            assert!(!answer.is_empty(), "{}: no answer to {}", query.question, query.promql);
        }
    }
}
