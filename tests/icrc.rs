//! The invariant CRC, recomputed by an independent script.

use std::process::Command;

use serde_json::Value;

use crate::support::{fixture, railscope, require};

#[test]
fn an_independent_script_checks_as_many_and_finds_as_many_bad() {
    if !require::has("icrc", "python3") {
        return;
    }
    let files: Vec<_> = fixture::all().iter().map(|row| fixture::path(&row.file)).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/icrc.py");
    let output = Command::new("python3").arg(script).args(&files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), files.len());

    for (line, file) in text.lines().zip(&files) {
        let report = railscope::analyze(std::slice::from_ref(file));
        let sum = |key: &str| -> u64 {
            let flows = report["flows"].as_array().unwrap().iter();
            flows.map(|flow: &Value| flow["icrc"][key].as_u64().unwrap()).sum()
        };
        let ours = format!("{} {}", sum("checked"), sum("bad"));
        assert_eq!(ours, line, "{}", file.display());
    }
}
