//! An OTLP receiver in Python, with OpenTelemetry's official protobufs.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;

use railscope_core::metrics::catalog;
use railscope_testbed::clock::PATIENCE;
use serde_json::Value;

use super::receivers;

pub struct Receiver {
    child: Child,
    pub grpc_port: u16,
    pub http_port: u16,
    lines: mpsc::Receiver<String>,
}

impl Receiver {
    /// `None` if Python or its libraries are not available.
    pub fn start(test: &str, options: &[&str]) -> Option<Self> {
        let module = "grpc, opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc";
        let mut python = receivers::python(test, module)?;
        python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/otlp_receiver.py")).args(options);
        let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (say, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines() {
                let Ok(line) = line else { return };
                if say.send(line).is_err() {
                    return;
                }
            }
        });
        let ports = lines.recv_timeout(PATIENCE).unwrap();
        let [grpc_port, http_port]: [u16; 2] = serde_json::from_str(&ports).unwrap();
        Some(Self { child, grpc_port, http_port, lines })
    }

    /// Its URL for `grpc` or `http`.
    pub fn url(&self, protocol: &str) -> String {
        let port = if protocol == "grpc" { self.grpc_port } else { self.http_port };
        format!("http://127.0.0.1:{port}")
    }

    /// Stops it; returns all requests that it received.
    pub fn requests(mut self) -> Vec<Value> {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
        let lines = std::iter::from_fn(|| self.lines.recv().ok());
        lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
    }
}

/// Items of all requests of a signal.
pub fn items(requests: &[Value], signal: &str) -> Vec<Value> {
    let of_signal = requests.iter().filter(|request| request["signal"] == signal);
    of_signal.flat_map(|request| request["items"].as_array().unwrap().clone()).collect()
}

/// The last points received, in the form of the Prometheus text: values by name and labels.
pub fn received(points: &[Value]) -> BTreeMap<String, f64> {
    let end = points.iter().map(|point| point["time"].as_u64().unwrap()).max().unwrap();
    let mut samples = BTreeMap::new();
    for point in points.iter().filter(|point| point["time"] == end) {
        let metric = catalog::all().find(|metric| point["name"] == metric.name).unwrap();
        assert_eq!(point["unit"], metric.unit.ucum().as_ref());
        let name = metric.prometheus_name();
        let attributes = point["attributes"].as_object().unwrap();
        let mut labels: Vec<String> = attributes
            .iter()
            .map(|(name, value)| format!("{}={value}", name.replace('.', "_")))
            .collect();
        let series = |suffix: &str, labels: &[String]| {
            let labels = labels.join(",");
            if labels.is_empty() {
                format!("{name}{suffix}")
            } else {
                format!("{name}{suffix}{{{labels}}}")
            }
        };
        let value = point["value"].as_f64().unwrap();
        if point["kind"] == "histogram" {
            let counts = point["counts"].as_array().unwrap();
            samples.insert(series("_sum", &labels), value);
            let mut below = 0.0;
            let bounds = point["bounds"].as_array().unwrap().iter();
            let bounds = bounds.map(|bound| bound.as_f64().unwrap().to_string());
            for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
                below += count.as_f64().unwrap();
                labels.push(format!("le=\"{bound}\""));
                samples.insert(series("_bucket", &labels), below);
                labels.pop();
            }
            samples.insert(series("_count", &labels), below);
        } else {
            samples.insert(series("", &labels), value);
        }
    }
    samples
}
