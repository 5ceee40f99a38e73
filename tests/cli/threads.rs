//! `--threads`: the report does not depend on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::recording::Recording;

fn check(files: &[PathBuf], options: &[&str], folder: &Path) {
    let mut first = None;
    for threads in ["1", "2", "4"] {
        let messages = folder.join("messages.jsonl");
        let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
        command
            .args(["analyze", "--format", "json", "--threads", threads])
            .args(options)
            .args(files);
        if options.contains(&"full") {
            command.arg("--detail-file").arg(&messages);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let outcome = (output.stdout, output.stderr, std::fs::read(&messages).ok());
        match &first {
            None => first = Some(outcome),
            Some(first) => assert!(*first == outcome, "{options:?} on {threads} threads"),
        }
    }
}

#[test]
fn the_report_is_the_same_for_any_number_of_threads() {
    for job in ["loss1pct-2.27.5", "ddp-overlap-straggler-2.27.5", "tcpstore-torch2.8.0-uv"] {
        let recording = Recording::unpack(job);
        let files = recording.captures();
        let files: Vec<PathBuf> = files.iter().map(|name| recording.folder().join(name)).collect();
        for options in [
            &[][..],
            &["--detail", "full"],
            &["--no-link"],
            &["--since", "300ms", "--until", "1s"],
            &["--max-messages", "50"],
            &["--max-flows", "3"],
        ] {
            check(&files, options, recording.folder());
        }
    }
}
