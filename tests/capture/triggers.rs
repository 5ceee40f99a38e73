//! Triggers that need no analysis. `job` has those that do.

use std::fs::{self, File};
use std::io::Write;

use super::run::{Capture, files, on_a_wire, send};

#[test]
fn a_line_in_a_log_saves() {
    on_a_wire("a_line_in_a_log_saves", || {
        let folder = tempfile::tempdir().unwrap();
        let (log, output) = (folder.path().join("train.log"), folder.path().join("out"));
        let on = format!("log:{}:NaN|CUDA error", log.display());
        let options = ["--keep", "1m", "--after", "200ms", "--max-saves", "1", "--on", &on];
        let mut capture =
            Capture::start(&[&options[..], &["-o", output.to_str().unwrap()]].concat());
        capture.waits_for("there is no such file yet");
        send(5, 5000, 100);
        let mut file = File::create(&log).unwrap();
        writeln!(file, "step 1: loss 2.1\nstep 2: loss NaN\nstep 3: loss NaN").unwrap();
        // It ends after one file.
        assert!(capture.ends().success());
        let said = capture.said();
        assert!(said.contains("trigger: log: step 2: loss NaN"), "{said}");
        let saved = files(&output);
        assert_eq!(saved.len(), 1, "{said}");
        assert!(saved[0].to_string_lossy().ends_with("-log.pcapng"), "{saved:?}");
    });
}

#[test]
fn a_command_that_fails_saves() {
    on_a_wire("a_command_that_fails_saves", || {
        let folder = tempfile::tempdir().unwrap();
        let send = "exec 3>/dev/udp/10.9.0.2/5000; echo hello >&3; exit ";
        for (code, count) in [(0, 0), (3, 1)] {
            let output = folder.path().join(format!("out{code}"));
            fs::create_dir(&output).unwrap();
            let script = format!("{send}{code}");
            let options = ["--on", "fail", "-o", output.to_str().unwrap(), "--"];
            let mut capture = Capture::start(&[&options[..], &["bash", "-c", &script]].concat());
            assert_eq!(capture.ends().code(), Some(code));
            assert_eq!(files(&output).len(), count, "{}", capture.said());
        }
    });
}
