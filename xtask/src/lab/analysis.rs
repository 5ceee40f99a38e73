//! The part of `railscope.report/1` that the lab checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::wire::{FlowName, Tally};

#[derive(Deserialize)]
pub(super) struct Report {
    pub(super) capture: Capture,
    pub(super) flows: Vec<Flow>,
}

#[derive(Deserialize)]
pub(super) struct Capture {
    pub(super) frames: u64,
    pub(super) roce_frames: u64,
    pub(super) refused: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
pub(super) struct Flow {
    pub(super) src: String,
    dst: String,
    dest_qpn: u32,
    pub(super) frames: u64,
    opcodes: BTreeMap<String, u64>,
    pub(super) messages: Messages,
    pub(super) psn: Psn,
    pub(super) episodes: Vec<Episode>,
    naks: Naks,
    rnr_naks: u64,
    pub(super) cnps: u64,
    ecn: Ecn,
    pub(super) icrc: Icrc,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Messages {
    pub(super) send: u64,
    pub(super) write: u64,
    pub(super) read: u64,
    pub(super) atomic: u64,
}

/// `None` on flows of datagrams.
#[derive(Deserialize)]
pub(super) struct Psn {
    pub(super) gap_packets: Option<u64>,
    pub(super) out_of_order_packets: Option<u64>,
    pub(super) retransmitted_packets: Option<u64>,
    pub(super) ambiguous_packets: Option<u64>,
    pub(super) uncaptured_packets: Option<u64>,
    pub(super) response_gap_packets: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Episode {
    pub(super) trigger: String,
    pub(super) count: u64,
}

#[derive(Deserialize)]
struct Naks {
    psn_sequence_error: u64,
    invalid_request: u64,
    remote_access_error: u64,
    remote_operational_error: u64,
    invalid_rd_request: u64,
    reserved: u64,
}

#[derive(Deserialize)]
struct Ecn {
    ce: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Icrc {
    pub(super) checked: u64,
    pub(super) bad: u64,
}

impl Report {
    pub(super) fn analyze(railscope: &Path, capture: &Path) -> Result<Self> {
        let mut analyze = Command::new(railscope);
        analyze.args(["analyze", "--format", "json"]).arg(capture).stdin(Stdio::null());
        let output = analyze.output().with_context(|| format!("start {}", railscope.display()))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{analyze:?}: {}: {}", output.status, said.trim());
        serde_json::from_slice(&output.stdout).context("parse the report")
    }

    /// Counts per flow, over all its epochs.
    pub(super) fn tallies(&self) -> BTreeMap<FlowName, Tally> {
        let mut tallies: BTreeMap<FlowName, Tally> = BTreeMap::new();
        for flow in &self.flows {
            let tally = tallies.entry(flow.name()).or_default();
            for (opcode, count) in &flow.opcodes {
                *tally.opcodes.entry(opcode.clone()).or_default() += count;
            }
            let Naks { invalid_request, remote_operational_error, .. } = flow.naks;
            let Naks { invalid_rd_request, reserved, .. } = flow.naks;
            tally.sequence_naks += flow.naks.psn_sequence_error;
            tally.access_naks += flow.naks.remote_access_error;
            tally.other_naks +=
                invalid_request + remote_operational_error + invalid_rd_request + reserved;
            tally.rnr_naks += flow.rnr_naks;
            tally.ce += flow.ecn.ce.unwrap_or(0);
        }
        tallies
    }

    /// The flows from one of `addresses`.
    pub(super) fn from<'a>(&'a self, addresses: &'a [String]) -> impl Iterator<Item = &'a Flow> {
        self.flows.iter().filter(|flow| addresses.contains(&flow.src))
    }
}

impl Flow {
    pub(super) fn name(&self) -> FlowName {
        (self.src.clone(), self.dst.clone(), self.dest_qpn)
    }
}
