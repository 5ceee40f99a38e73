//! Receivers of the agent's data: real ones store the same numbers, and one that is down for a
//! minute misses nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use railscope_core::metrics::queries;
use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use railscope_testbed::data_base::{DataBase, Series, free_port};
use railscope_testbed::prometheus;
use serde_json::Value;

use crate::support::fabric;
use crate::support::otlp_receiver::{Receiver, items, received};
use crate::support::railscope::PROGRAM;
use crate::support::receivers;
use crate::support::samples::{hold_the_same, lines, samples};

const TAPS: &str = "taps.interfaces=[\"port*\"]";
const INTERVAL: &str = "otlp.interval=\"500ms\"";

/// Metrics of the job. Those of the agent itself change all the time.
fn of_the_job(text: &str) -> Vec<(Series, f64)> {
    let mut all = samples(text);
    all.retain(|(series, _)| !series["__name__"].starts_with("railscope_"));
    all
}

fn endpoint(url: &str) -> String {
    format!("otlp.endpoint=\"{url}\"")
}

/// The agent's metrics once two reports in a row agree: no more traffic.
fn settled(agent: &Agent) -> String {
    // Flow counters are also updated between reports.
    let reports = |text: &str| {
        let mut all = samples(text).into_iter();
        all.find(|(series, _)| series["__name__"] == "railscope_report_count_total")
    };
    let mut text = agent.get("/metrics").unwrap();
    eventually("everything is exported", || {
        let now = agent.get("/metrics").unwrap();
        let is_another = reports(&now) != reports(&text);
        let is_settled = is_another && of_the_job(&now) == of_the_job(&text);
        if is_another {
            text = now;
        }
        is_settled
    });
    text
}

#[test]
fn three_receivers_store_the_same_numbers() {
    let test = "three_receivers_store_the_same_numbers";
    let Some(mut victoria) = receivers::victoria_metrics(test) else { return };
    if !receivers::has_prometheus(test) {
        return;
    }
    fabric::run(test, 4, move |fabric| {
        let Some(grpc) = Receiver::start(test, &[]) else { return };
        let data = tempfile::tempdir().unwrap();
        let port = free_port();
        victoria
            .arg(format!("-storageDataPath={}", data.path().join("victoria").display()))
            .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
            .args(["-retentionPeriod=100y", "-opentelemetry.usePrometheusNaming"])
            .arg("-search.latencyOffset=0s");
        let victoria = DataBase::start(&mut victoria, port, "/health");
        let url = format!("http://127.0.0.1:{port}/opentelemetry");
        let http = "otlp.protocol=\"http/protobuf\"";
        let agent = Agent::start(PROGRAM, &[TAPS, INTERVAL, http, &endpoint(&url)]);
        let other = Agent::start(PROGRAM, &[TAPS, INTERVAL, &endpoint(&grpc.url("grpc"))]);
        let targets = [agent.address()];
        let prometheus = prometheus::start(data.path(), prometheus::Setup::of("500ms", &targets));

        let job = "--iterations 20 --warmup_iters 0 --check 0 --buckets 1MiB --compute 100ms \
                   --straggler rank=2,delay=90ms,iterations=5..8";
        for mut rank in fabric.drive(job) {
            assert!(rank.wait().unwrap().success());
        }
        let expected = of_the_job(&settled(&agent));
        assert!(expected.len() > 100);
        let named = |name: &str| {
            let of_name = expected.iter().filter(|(series, _)| series["__name__"] == name);
            of_name.map(|(_, value)| value).sum::<f64>()
        };
        // The last training step may not be closed yet.
        assert_eq!(named("nccl_training_step_duration_seconds_count"), 19.0);
        let all = "{__name__=~\"(nccl|rdma)_.+\"}";
        eventually("the last scrape is stored", || {
            let counted = "sum(nccl_training_step_duration_seconds_count)";
            prometheus.ask(counted, None).first().is_some_and(|(_, count)| *count == 19.0)
        });
        hold_the_same(&prometheus.ask(all, None), &expected);
        victoria.get("/internal/force_flush").unwrap();
        // Without it, the database also returns values exported only once, such as peaks.
        let lately = format!("last_over_time({all}[2s])");
        hold_the_same(&victoria.ask(&lately, None), &expected);
        for query in queries::ALL {
            let has_answer = ["training step", "rank is late", "collectives"];
            if has_answer.iter().any(|asked| query.question.contains(asked)) {
                // `rate` needs two scrapes.
                eventually(query.promql, || !prometheus.ask(query.promql, None).is_empty());
            }
        }

        let text = settled(&other);
        let points = items(&grpc.requests(), "metrics");
        let (mut last, mut expected) = (received(&points), lines(&text));
        last.retain(|series, _| !series.starts_with("railscope_"));
        expected.retain(|series, _| !series.starts_with("railscope_"));
        assert_eq!(last, expected);
        agent.stop();
        other.kill();
    });
}

/// Spans and logs are sent once: a receiver that misses them never gets them. Metrics are
/// cumulative.
#[test]
fn a_receiver_that_is_down_for_a_minute_misses_nothing() {
    const GONE: Duration = Duration::from_secs(60);
    let test = "a_receiver_that_is_down_for_a_minute_misses_nothing";
    fabric::run(test, 2, move |fabric| {
        let port = free_port().to_string();
        let options = ["--grpc-port", &port];
        let Some(receiver) = Receiver::start(test, &options) else { return };
        let agent = Agent::start(PROGRAM, &[TAPS, INTERVAL, &endpoint(&receiver.url("grpc"))]);
        let job = "--iterations 125 --warmup_iters 0 --check 0 --buckets 256KiB --compute 500ms";
        let ranks = fabric.drive(job);
        std::thread::sleep(Duration::from_secs(4));
        let mut requests = receiver.requests();
        std::thread::sleep(GONE / 6);
        let before = agent.memory_kib();
        std::thread::sleep(GONE - GONE / 6);
        let after = agent.memory_kib();
        let receiver = Receiver::start(test, &options).unwrap();
        for mut rank in ranks {
            assert!(rank.wait().unwrap().success());
        }
        settled(&agent);
        let report = agent.report();
        let collectives = report["collectives"].as_array().unwrap().len();
        assert!(collectives > 100, "{collectives}");
        // The last retry comes half a minute after the one before.
        let outcome = |signal: &str, outcome: &str| {
            let all = samples(&agent.get("/metrics").unwrap()).into_iter();
            let of = |(series, value): (Series, f64)| {
                let is = series["__name__"] == "railscope_export_items_total"
                    && series["railscope_signal"] == signal
                    && series["railscope_outcome"] == outcome;
                is.then_some(value)
            };
            all.filter_map(of).sum::<f64>()
        };
        // The last collective may not be closed yet.
        let finished = 3.0 * (collectives as f64 - 1.0);
        eventually("the backlog is sent", || outcome("traces", "sent") >= finished);
        for signal in ["metrics", "traces", "logs"] {
            assert_eq!(outcome(signal, "dropped") + outcome(signal, "failed"), 0.0, "{signal}");
        }
        let said = agent.stop();
        requests.extend(receiver.requests());

        assert!(after < before + 8 * 1024, "{before} KiB, then {after} KiB");
        assert!(said.contains("accepts everything again"), "{said}");
        assert!(!said.contains("were not sent"), "{said}");
        let spans = items(&requests, "traces");
        let name = |span: &Value| format!("{} {}", span["trace"], span["span"]);
        let unique: BTreeSet<String> = spans.iter().map(name).collect();
        // One span for the collective and one per rank; a request may have arrived twice.
        assert_eq!(unique.len(), 3 * collectives);
        let points = items(&requests, "metrics");
        let last = received(&points);
        let counted = last
            .iter()
            .filter(|(series, _)| series.starts_with("nccl_training_step_duration_seconds_count"));
        assert_eq!(counted.map(|(_, count)| count).sum::<f64>(), 125.0);
    });
}
