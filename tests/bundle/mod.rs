//! Bundles: what is in one, what is refused, and that its report is the one that was printed.

mod archive;
mod hosts;
mod passing;
mod planted;
mod same;
mod scrubbed;
mod strangers;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::railscope::PROGRAM;
use crate::support::recording::Recording;

/// The files of a recorded job that `analyze` reads.
pub fn files_of(job: &Recording) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        job.captures().iter().map(|name| job.folder().join(name)).collect();
    let logs = std::fs::read_dir(job.folder().join("logs")).into_iter().flatten();
    let mut logs: Vec<PathBuf> = logs.map(|entry| entry.unwrap().path()).collect();
    logs.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("nccl."));
    logs.sort();
    files.extend(logs);
    files
}

/// Runs `railscope` with arguments.
pub fn run(arguments: &[&str], files: &[PathBuf]) -> Output {
    Command::new(PROGRAM).args(arguments).args(files).output().unwrap()
}

/// Runs it, and it succeeds.
#[track_caller]
pub fn succeeds(arguments: &[&str], files: &[PathBuf]) -> String {
    let output = run(arguments, files);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The members of a bundle: path and bytes.
pub fn members(path: &Path) -> Vec<(String, Vec<u8>)> {
    let file = std::fs::File::open(path).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(file).unwrap());
    let mut members = Vec::new();
    for member in archive.entries().unwrap() {
        let mut member = member.unwrap();
        let path = member.path().unwrap().display().to_string();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut member, &mut bytes).unwrap();
        members.push((path, bytes));
    }
    members
}

/// A recorded job as a bundle, and the report that was printed beside it.
pub fn bundled(job: &Recording, out: &Path) -> Value {
    let arguments = ["analyze", "--format", "json", "--bundle", out.to_str().unwrap()];
    serde_json::from_str(&succeeds(&arguments, &files_of(job))).unwrap()
}
