//! Tools of others that say the same thing in their own way. A test that lacks one skips loudly.

use std::io::ErrorKind;
use std::process::Command;

/// What `tool` prints; `None`, after a loud line, when it is not installed. With
/// `RAILSCOPE_REQUIRE_ALL=1` a missing tool fails the test.
pub(crate) fn output_of(test: &str, tool: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(tool).args(arguments).env("TZ", "UTC").output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let reason = format!("SKIP {test}: {tool} is not installed");
            assert!(std::env::var_os("RAILSCOPE_REQUIRE_ALL").is_none_or(|v| v != "1"), "{reason}");
            println!("{reason}");
            return None;
        }
        Err(error) => panic!("run {tool}: {error}"),
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {complaint}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
