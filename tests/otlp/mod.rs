//! OTLP: railscope's exports, as others read them.

mod captures;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod job;
mod page;
mod victoria_metrics;
mod trouble;

use std::process::{Command, Stdio};

use crate::support::otlp_receiver::{Receiver, items};

/// The program with these OpenTelemetry variables and no others.
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
