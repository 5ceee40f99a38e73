//! Other projects' tools with an independent answer. A test that lacks one says so and skips.

use std::process::Command;

use super::require;

/// The output of `tool`; `None` if it does not run on this machine.
pub(crate) fn output_of(test: &str, tool: &str, arguments: &[&str]) -> Option<String> {
    if !require::has(test, tool) {
        return None;
    }
    let output = Command::new(tool).args(arguments).env("TZ", "UTC").output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {complaint}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
