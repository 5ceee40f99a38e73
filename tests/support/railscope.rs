//! The built `railscope`, run as a user runs it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_railscope");

/// `railscope analyze --format json` on the files.
pub fn analyze(files: &[PathBuf]) -> Value {
    let options = ["analyze", "--format", "json"].map(OsStr::new);
    let files = files.iter().map(|file| file.as_os_str());
    serde_json::from_str(&output(options.into_iter().chain(files))).unwrap()
}

/// `railscope analyze` on the files.
pub fn text(files: &[PathBuf]) -> String {
    output([OsStr::new("analyze")].into_iter().chain(files.iter().map(|file| file.as_os_str())))
}

/// `railscope analyze --format prometheus` on the file.
pub fn prometheus(file: &Path) -> String {
    let arguments = ["analyze", "--format", "prometheus"].map(OsStr::new);
    output(arguments.into_iter().chain([file.as_os_str()]))
}

/// The lines of `railscope packets` on the file.
pub fn packet_lines(file: &Path) -> Vec<String> {
    let arguments = [OsStr::new("packets"), file.as_os_str()];
    output(arguments.into_iter()).lines().map(str::to_owned).collect()
}

/// `railscope packets --format json` on the file: one object per packet.
pub fn packets(file: &Path) -> Vec<Value> {
    let arguments = ["packets", "--format", "json"].map(OsStr::new);
    let text = output(arguments.into_iter().chain([file.as_os_str()]));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What it prints.
pub fn output<'a>(arguments: impl Iterator<Item = &'a OsStr>) -> String {
    let output = Command::new(PROGRAM).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
