//! What railscope must report about a generated capture before its speed means anything.

use std::io::BufReader;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::repository::command;

/// The keys of `railscope.report/1` that are looked at.
#[derive(Deserialize)]
struct Report {
    capture: Capture,
    flows: Vec<Flow>,
    collectives: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Capture {
    frames: u64,
}

#[derive(Deserialize)]
struct Flow {
    psn: Psn,
    icrc: Icrc,
}

#[derive(Deserialize)]
struct Psn {
    gap_packets: Option<u64>,
    out_of_order_packets: Option<u64>,
    retransmitted_packets: Option<u64>,
    ambiguous_packets: Option<u64>,
}

#[derive(Deserialize)]
struct Icrc {
    bad: Option<u64>,
}

/// What a report says about a capture that it found clean.
pub(super) struct Verified {
    pub(super) collectives: usize,
}

/// `None` when `railscope` prints no report of `capture` at all; fails when it does and the report
/// does not count `frames` frames and find them clean.
pub(super) fn verify(railscope: &Path, capture: &Path, frames: u64) -> Result<Option<Verified>> {
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]).arg(capture);
    let mut child = analyze.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().context("railscope has no standard output")?;
    let report: serde_json::Result<Report> = serde_json::from_reader(BufReader::new(stdout));
    let status = child.wait()?;
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            eprintln!("SKIP railscope: {status}, no report on its standard output: {error}");
            return Ok(None);
        }
    };
    ensure!(report.capture.frames == frames, "railscope counted {} frames", report.capture.frames);
    let oddities: u64 = report.flows.iter().map(Flow::oddities).sum();
    ensure!(oddities == 0, "railscope found {oddities} gaps or the like in a clean capture");
    Ok(Some(Verified { collectives: report.collectives.len() }))
}

impl Flow {
    fn oddities(&self) -> u64 {
        let counts = [
            self.psn.gap_packets,
            self.psn.out_of_order_packets,
            self.psn.retransmitted_packets,
            self.psn.ambiguous_packets,
            self.icrc.bad,
        ];
        counts.into_iter().flatten().sum()
    }
}
