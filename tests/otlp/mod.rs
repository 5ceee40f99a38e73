//! OTLP: what railscope sends, as others read it.

// What a capture has, sent to a receiver made of the official protobufs.
mod captures;
// A real data base for metrics.
mod victoria_metrics;
// Receivers that are slow, dead or refuse.
mod trouble;

use std::process::{Command, Stdio};

use crate::support::otlp_receiver::{Receiver, items};

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
