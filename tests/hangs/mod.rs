//! Jobs that no longer move, by what their processes recorded.

mod cut;
mod explain;
mod flight_recorder;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod killed;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod live;
mod pages;
mod places;
mod queue_pairs;
mod ras;
mod recorded;
pub mod simulated;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod sockets;

use serde_json::Value;

use crate::cli::railscope;

/// The report on these options, relative to the fixtures' folder.
fn analysed(options: &[&str]) -> Value {
    let arguments = ["analyze", "--format", "json"].iter().chain(options);
    serde_json::from_str(&railscope(arguments).succeeds()).unwrap()
}

fn text(options: &[&str]) -> String {
    railscope(["analyze"].iter().chain(options)).succeeds()
}

/// Class and rank of the first verdict.
fn first(report: &Value) -> (&str, Option<u64>) {
    let verdict = &report["verdicts"][0];
    (verdict["id"].as_str().unwrap(), verdict["subject"]["rank"].as_u64())
}
