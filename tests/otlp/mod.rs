//! OTLP: what railscope sends, as others read it.

// What a capture has, sent to a receiver made of the official protobufs.
mod captures;
// A real data base for metrics.
mod victoria_metrics;
// Receivers that are slow, dead or refuse.
mod trouble;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::support::receivers;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The receiver in Python.
struct Receiver {
    child: Child,
    grpc_port: u16,
    http_port: u16,
    lines: mpsc::Receiver<String>,
}

impl Receiver {
    /// `None` where it cannot be had.
    fn start(test: &str, options: &[&str]) -> Option<Self> {
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

    fn url(&self, protocol: &str) -> String {
        let port = if protocol == "grpc" { self.grpc_port } else { self.http_port };
        format!("http://127.0.0.1:{port}")
    }

    /// Ends it; all requests that came.
    fn requests(mut self) -> Vec<Value> {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
        let lines = std::iter::from_fn(|| self.lines.recv().ok());
        lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
    }
}

/// Items of all requests of a signal.
fn items(requests: &[Value], signal: &str) -> Vec<Value> {
    let of_signal = requests.iter().filter(|request| request["signal"] == signal);
    of_signal.flat_map(|request| request["items"].as_array().unwrap().clone()).collect()
}

/// The program, with the variables of OpenTelemetry that are given and no others.
fn railscope(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(variables.iter().copied()).stdin(Stdio::null());
    command
}
