//! What is read of a report.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::repository::{command, root};

#[derive(Deserialize)]
pub(super) struct Report {
    pub(super) communicators: Vec<Communicator>,
    pub(super) collectives: Vec<Collective>,
    pub(super) transfers: Option<Vec<Transfer>>,
    pub(super) call_records: CallRecords,
    pub(super) verdicts: Vec<Verdict>,
}

#[derive(Deserialize)]
pub(super) struct Communicator {
    pub(super) connections: Vec<Connection>,
}

#[derive(Deserialize)]
pub(super) struct Connection {
    pub(super) id: u32,
    pub(super) sender: Option<u32>,
    pub(super) receiver: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Collective {
    pub(super) connections: Vec<Part>,
}

/// A collective on a connection.
#[derive(Deserialize)]
pub(super) struct Part {
    pub(super) connection: u32,
    pub(super) waits: Option<Waits>,
}

#[derive(Deserialize)]
pub(super) struct Waits {
    pub(super) receiver_wait_ns: u64,
}

#[derive(Deserialize)]
pub(super) struct Transfer {
    pub(super) connection: u32,
    pub(super) cts_posted_ns: Option<i64>,
    pub(super) first_ns: Option<i64>,
    pub(super) last_ns: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct CallRecords {
    pub(super) proxies: Vec<Proxy>,
    pub(super) late_by_proxies: Vec<Late>,
    pub(super) judged_by_proxies: Vec<Judged>,
}

#[derive(Deserialize)]
pub(super) struct Proxy {
    pub(super) rank: Option<u32>,
    pub(super) edges: Vec<Edge>,
}

#[derive(Deserialize)]
pub(super) struct Edge {
    pub(super) peer: u32,
    pub(super) direction: String,
    pub(super) operations: u64,
    pub(super) first: Option<Wait>,
    pub(super) third: Option<Wait>,
    pub(super) later_second_ns: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Wait {
    pub(super) count: u64,
    pub(super) total_ns: u64,
}

#[derive(Deserialize)]
pub(super) struct Late {
    pub(super) rank: u32,
    pub(super) why: String,
}

#[derive(Deserialize)]
pub(super) struct Judged {
    pub(super) slow_receiver: Option<SlowEdge>,
    pub(super) slow_path: Option<SlowEdge>,
}

#[derive(Deserialize)]
pub(super) struct SlowEdge {
    pub(super) to: u32,
}

#[derive(Deserialize)]
pub(super) struct Verdict {
    pub(super) id: String,
    pub(super) severity: String,
    pub(super) cause: Option<String>,
    pub(super) subject: Subject,
}

#[derive(Deserialize)]
pub(super) struct Subject {
    pub(super) rank: Option<u32>,
}

impl Report {
    /// The full report of `railscope` on these files.
    pub(super) fn of(railscope: &Path, files: &[PathBuf]) -> Result<Self> {
        let mut analyze = command(railscope);
        // The speed that the driver's ports have: times of pauses are counted in bits.
        analyze.args(["analyze", "--format", "json", "--line-rate", "10G"]);
        // Messages one by one: they are in the report, too.
        analyze.args(["--detail", "full", "--detail-file"]);
        analyze.arg(root().join("target/waits/messages.jsonl")).args(files);
        analyze.stdin(Stdio::null());
        let output = analyze.output().context("start railscope")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{analyze:?}: {}: {}", output.status, said.trim());
        serde_json::from_slice(&output.stdout).context("parse the report")
    }
}
