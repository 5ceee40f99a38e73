//! A job with a fault partway: the saved file holds what came before the fault, and says what happened.

use std::path::Path;
use std::process::{Command, Stdio};

use super::run::{Capture, files, on_a_wire};
use crate::cli::railscope;
use crate::support::railscope::{PROGRAM, analyze};
use crate::support::require;
use crate::support::tshark;

/// Seconds that the ring looks back.
const KEEP: u64 = 6;

/// A job over the loopback of its own namespace: packets are lost from training step 18 on, at about second 6.
/// The capture starts with it, and is triggered by the finding.
#[test]
fn a_finding_saves_what_led_to_it() {
    let test = "a_finding_saves_what_led_to_it";
    on_a_wire(test, move || {
        let folder = tempfile::tempdir().unwrap();
        let (output, record) = (folder.path().join("out"), folder.path().join("job"));
        let mut command = Command::new(PROGRAM);
        let keep = format!("{KEEP}s");
        command.args(["capture", "-i", "lo", "--keep", &keep, "--after", "1s"]);
        command.args(["--on", "finding:loss", "--max-saves", "1", "-o"]).arg(&output);
        command.arg("--").arg(PROGRAM).args(["drive", "--place", "loopback", "--ranks", "4"]);
        command.args(["--iterations", "60", "--warmup_iters", "0", "--check", "0"]);
        command.args(["--buckets", "512KiB", "--compute", "300ms"]);
        command.args(["--loss", "edge=1-2,share=5%,iterations=18..40"]);
        command.arg("--record").arg(&record).stdout(Stdio::null());
        let mut capture = Capture::spawn(&mut command);
        capture.waits_for("trigger: loss: ");
        capture.waits_for("saved ");
        _ = capture.ends();
        let saved = files(&output);
        assert_eq!(saved.len(), 1, "{}", capture.said());
        let saved = saved[0].clone();
        // The ranks are known from the bootstrap, which was before.
        let report = analyze(std::slice::from_ref(&saved));
        assert_eq!(report["communicators"][0]["nranks"], 4);
        let findings = report["findings"].as_array().unwrap();
        assert!(findings.iter().any(|one| one["id"] == "loss"), "{findings:?}");
        if !require::has(test, "tshark") {
            return;
        }
        let times = tshark::fields(&saved, &["frame.time_epoch", "tcp.len"]);
        let recent = times.iter().filter(|row| row[1].is_empty());
        let recent: Vec<f64> = recent.map(|row| row[0].parse().unwrap()).collect();
        let comments = comments(&saved);
        let lost = comments.iter().find(|(_, text)| text.starts_with("lost here: PSN "));
        let (fault, _) = lost.expect("a packet is lost");
        let before = fault - recent.iter().fold(*fault, |one, other| one.min(*other));
        assert!(before > 2.0, "{before} s before the fault");
        for wanted in [
            "sent again (rank 1 to rank 2, ",
            "[loss",
            "NAK, PSN sequence error: send again from PSN ",
        ] {
            let is_there = comments.iter().any(|(_, text)| text.contains(wanted));
            assert!(is_there, "{wanted}: {comments:#?}");
        }
        // How many of the two channels lost packets within a second is chance, and a busy machine reorders.
        let cites = |text: &str| text.starts_with("finding loss ") && text.contains("127.0.0.4");
        assert!(comments.iter().any(|(_, text)| cites(text)), "{comments:#?}");
    });
}

/// The job stands still and nothing passes any more: the saved file says for how long.
#[test]
fn a_hang_is_in_its_file() {
    on_a_wire("a_hang_is_in_its_file", move || {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let mut command = Command::new(PROGRAM);
        command.args(["capture", "-i", "lo", "--keep", "30s", "--after", "1s"]);
        command.args(["--on", "hang", "--hang-after", "3s", "--max-saves", "1", "-o"]).arg(&output);
        command.arg("--").arg(PROGRAM).args(["drive", "--place", "loopback", "--ranks", "3"]);
        command.args(["--iterations", "12", "--warmup_iters", "0", "--check", "0"]);
        command.args(["--buckets", "256KiB", "--compute", "60ms", "--timeout", "60s"]);
        command.args(["--straggler", "rank=1,delay=20s,iterations=8..8"]).stdout(Stdio::null());
        let mut capture = Capture::spawn(&mut command);
        capture.waits_for("saved ");
        _ = capture.ends();
        let saved = files(&output);
        let saved = saved[0].to_str().unwrap();
        let said = railscope(["explain", "--hang", "--format", "json", saved]).succeeds();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["state"], "hang", "{said}");
        assert_eq!(said["hangs"][0]["class"], "rank_not_called");
        assert_eq!(said["hangs"][0]["subject"]["rank"], 1);
        let silence_ns = said["communicators"][0]["silence_ns"].as_u64().unwrap();
        // 3 s before the trigger, and 1 s after it.
        assert!(silence_ns >= 3_900_000_000, "{silence_ns}");
    });
}

/// Time and text of all comments.
fn comments(saved: &Path) -> Vec<(f64, String)> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-Y", "frame.comment", "-T", "fields"]);
    command.args(["-e", "frame.time_epoch", "-e", "frame.comment", "-r"]).arg(saved);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().filter_map(|line| line.split_once('\t'));
    rows.map(|(time, text)| (time.parse().unwrap(), text.to_owned())).collect()
}
