//! Receivers that are down, slow or ask for a retry cost neither memory nor time, and nothing is
//! lost except beyond the queue's limit.

use std::time::Duration;

use railscope::export::otlp::config::OtlpConfig;
use railscope::export::otlp::exporter::Exporter;
use railscope::export::otlp::{batch::Signal, metrics};
use railscope_core::metrics::catalog;
use railscope_core::metrics::own::ExportFigures;
use railscope_core::metrics::point::{Attributes, Point, Value};
use railscope_core::model::time::Timestamp;
use railscope_testbed::clock::{PATIENCE, eventually};
use railscope_testbed::data_base::free_port;

use super::{Receiver, items};
use crate::support::clock::duration_of;

/// One point, identified by its value.
fn point(number: u64) -> Vec<Point> {
    let time = Timestamp::from_nanos(number);
    let value = Value::Number(number);
    let metric = &catalog::TRAINING_STEP_COLLECTIVES;
    vec![Point { metric, attributes: Attributes::default(), start: Timestamp::EPOCH, time, value }]
}

fn exporter(protocol: &str, port: u16, queue_bytes: usize) -> Exporter {
    let url = format!("http://127.0.0.1:{port}");
    let variable =
        |name: &str| (name == "OTEL_EXPORTER_OTLP_PROTOCOL").then(|| protocol.to_owned());
    let config = OtlpConfig::from_environment(Some(&url), variable).unwrap();
    Exporter::start(OtlpConfig { queue_bytes, timeout: Duration::from_secs(2), ..config }).unwrap()
}

fn send(exporter: &Exporter, number: u64) {
    exporter.send(metrics::batches(&point(number), &exporter.config().resource));
}

fn of_metrics(figures: &[(Signal, ExportFigures); 3]) -> ExportFigures {
    figures[0].1
}

#[test]
fn while_the_receiver_is_dead_the_newest_wait_and_the_oldest_are_counted() {
    let test = "while_the_receiver_is_dead_the_newest_wait_and_the_oldest_are_counted";
    const ALL: u64 = 2000;
    const BOUND: usize = 20_000;
    for protocol in ["grpc", "http/protobuf"] {
        let port = free_port();
        let exporter = exporter(protocol, port, BOUND);
        let took = duration_of(|| (0..ALL).for_each(|number| send(&exporter, number)));
        assert!(took < PATIENCE / 4, "the caller does not wait");
        let dropped = of_metrics(&exporter.figures()).dropped;
        assert!(dropped > 0 && dropped < ALL);
        assert!(exporter.waiting_bytes() <= BOUND);
        eventually("it has tried to send", || exporter.trouble().is_some());
        let (grpc, http) = if protocol == "grpc" { (port, 0) } else { (0, port) };
        let options = ["--grpc-port", &grpc.to_string(), "--http-port", &http.to_string()];
        let Some(receiver) = Receiver::start(test, &options) else { return };
        let (figures, trouble) = exporter.finish(PATIENCE);
        let figures = of_metrics(&figures);
        assert_eq!((figures.dropped, figures.failed, trouble), (dropped, 0, None));
        assert_eq!(figures.sent, ALL - dropped, "the queued points arrived");
        let points = items(&receiver.requests(), "metrics");
        let mut numbers: Vec<u64> =
            points.iter().map(|point| point["value"].as_u64().unwrap()).collect();
        assert!(numbers.is_sorted(), "in order");
        numbers.dedup();
        assert_eq!(numbers.len() as u64, ALL - dropped, "each once");
        // The points in flight when the receiver was down were kept, and so were the newest.
        assert_eq!(numbers.last(), Some(&(ALL - 1)));
    }
}

#[test]
fn a_receiver_that_asks_for_a_retry_gets_everything() {
    let test = "a_receiver_that_asks_for_a_retry_gets_everything";
    for protocol in ["grpc", "http/protobuf"] {
        let Some(receiver) = Receiver::start(test, &["--refuse", "2"]) else { return };
        let port = if protocol == "grpc" { receiver.grpc_port } else { receiver.http_port };
        let exporter = exporter(protocol, port, 1 << 20);
        (0..3).for_each(|number| send(&exporter, number));
        let (figures, trouble) = exporter.finish(PATIENCE);
        assert_eq!(of_metrics(&figures), ExportFigures { sent: 3, ..ExportFigures::default() });
        assert_eq!(trouble, None);
        assert_eq!(items(&receiver.requests(), "metrics").len(), 3);
    }
}

#[test]
fn an_exporter_ends_in_time_and_counts_what_it_leaves() {
    let exporter = exporter("grpc", free_port(), 1 << 20);
    (0..5).for_each(|number| send(&exporter, number));
    let mut outcome = None;
    let took = duration_of(|| outcome = Some(exporter.finish(Duration::from_millis(300))));
    assert!(took < PATIENCE / 4);
    let (figures, trouble) = outcome.unwrap();
    assert_eq!(of_metrics(&figures), ExportFigures { dropped: 5, ..ExportFigures::default() });
    assert!(trouble.unwrap().contains("onnect"), "no reason given");
}
