//! Gaps, reordering and retransmissions, as `psn_reference.py` counts them from tshark's fields.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{Frame, flows_in};
use crate::support::fixture::Fixture;
use crate::support::require;
use crate::support::roce::meaning;

/// Compares the classes of every flow with the script's.
pub fn check(report: &Value, frames: &[Frame], row: &Fixture) {
    if !require::has("psn_reference", "python3") {
        return;
    }
    let mut lines = String::new();
    for frame in frames.iter().filter(|frame| meaning(frame.opcode).is_request) {
        let Frame { source, destination, dest_qpn, psn, identification, .. } = frame;
        lines += &format!("{source} {destination} {dest_qpn}\t{psn}\t{identification}\n");
    }
    let reference = run_reference(&lines);
    let mut repeated_or_late = 0;
    for (key, flow) in flows_in(report) {
        let name = format!("{} {} {}", key.0, key.1, key.2);
        let Some(expected) = reference.iter().find(|line| line["flow"] == name) else {
            continue; // a flow of answers only
        };
        if flow["transport"] == "UD" {
            // Datagrams to many receivers share the sender's PSNs: loss cannot be detected.
            assert!(flow["psn"]["gap_packets"].is_null(), "{flow}");
            continue;
        }
        for class in ["gap", "out_of_order", "retransmitted", "ambiguous"] {
            assert_eq!(flow["psn"][format!("{class}_packets")], expected[class], "{class}: {flow}");
        }
        // The report decides what became of a gap that stays open; the fixtures have none.
        let open = ["uncaptured_packets", "unresolved_packets"]
            .map(|class| flow["psn"][class].as_u64().unwrap());
        assert_eq!(open.iter().sum::<u64>(), expected["unfilled"].as_u64().unwrap(), "{flow}");
        let behind =
            ["out_of_order", "retransmitted"].map(|class| expected[class].as_u64().unwrap());
        repeated_or_late += behind.iter().sum::<u64>() - expected["gap"].as_u64().unwrap();
    }
    // In the fixtures every skipped PSN arrived later. The other packets at or below the highest
    // PSN have PSNs that were captured before.
    assert_eq!(repeated_or_late, row.finds.repeated_packets);
}

/// The script's counts, one object per flow.
fn run_reference(lines: &str) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/psn_reference.py");
    let mut child = Command::new("python3")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The script reads all input before it writes, so neither side blocks the other.
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
