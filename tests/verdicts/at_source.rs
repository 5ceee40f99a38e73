//! Packets that never reached the tap next to their sender: both taps saw the same, and still they were
//! lost, not late.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::job::{analyze, problems};
use crate::cli::railscope;

#[test]
fn packets_missing_at_both_taps_are_lost() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("job");
    railscope(
        ["drive", "--ranks", "3", "--iterations", "20", "--buckets", "1MiB", "--compute", "20ms"]
            .into_iter()
            .chain(["--loss", "edge=0-1,share=2%", "--record", record.to_str().unwrap()]),
    )
    .warns();
    let report = |ranks: &[u32]| -> Value {
        let captures = ranks.iter().map(|rank| format!("rank{rank}.pcap"));
        let text = analyze(&record, captures, &["--format", "json"]);
        serde_json::from_str(&text).unwrap()
    };
    let all = report(&[0, 1, 2]);
    let first = problems(&all)[0];
    let ports = |rank: usize| &all["ports"][rank]["address"];
    assert_eq!((&first["id"], &first["grade"]), (&json!("loss"), &json!("proven")), "{first}");
    assert_eq!(first["subject"]["port"], *ports(1), "{first}");
    assert_eq!(first["subject"]["peer_port"], *ports(0), "{first}");
    cut_short(&record.join("rank2.pcap"));
    let found = report(&[0, 1, 2]);
    // A rank may truly be late: those of this job share a machine with other tests.
    let of_network = |one: &&Value| one["id"] != "late_rank" && one["id"] != "slow_receiver";
    let places = problems(&found).into_iter().filter(of_network).map(|one| &one["subject"]);
    let places: Vec<&Value> = places.collect();
    assert_eq!(places, [&first["subject"]], "a capture that stopped early lost nothing");
    for rank in [0, 1] {
        let alone = report(&[rank]);
        assert_eq!(problems(&alone)[0]["id"], "loss", "rank {rank}: {}", alone["verdicts"]);
    }
}

/// Removes the last third of the frames, as if the capture had been stopped before the others.
fn cut_short(capture: &Path) {
    let bytes = fs::read(capture).unwrap();
    let mut ends = vec![24];
    while let Some(length) = bytes.get(ends[ends.len() - 1] + 8..ends[ends.len() - 1] + 12) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        ends.push(ends[ends.len() - 1] + 16 + length);
    }
    fs::write(capture, &bytes[..ends[ends.len() * 2 / 3]]).unwrap();
}
