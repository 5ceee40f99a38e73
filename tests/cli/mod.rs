//! The program as a user runs it: what it prints, where, and its exit code.

mod explain;
mod files;
mod filter_language;
mod filters;
mod help;
mod hostile;
mod limits;
mod messages;
mod options;
mod output;
mod pager;
mod partial;
mod pcapng;
mod report;
mod terminal;
mod threads;
mod width;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::fixture;
use crate::support::recording::Recording;

pub(crate) struct Run {
    command: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn new(command: &Command, output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            command: format!("{command:?}"),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Standard output of a successful run without warnings.
    pub(crate) fn succeeds(self) -> String {
        assert_eq!(self.stderr, "", "{}", self.command);
        self.warns()
    }

    /// Standard output of a successful run, with or without warnings.
    pub(crate) fn warns(self) -> String {
        assert_eq!(self.code, Some(0), "{}: {}", self.command, self.stderr);
        self.stdout
    }

    /// The error message of a failed run that printed nothing else.
    pub(crate) fn fails(self) -> String {
        assert_eq!(self.code, Some(2), "{}: {}{}", self.command, self.stdout, self.stderr);
        assert_eq!(self.stdout, "", "{}", self.command);
        self.stderr
    }
}

/// The program with the fixtures' folder as its working directory.
fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    command.args(arguments).current_dir(fixture::folder());
    command.env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// Runs the program in the fixtures' folder.
pub(crate) fn railscope<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    let mut command = command(arguments);
    let output = command.stdin(Stdio::null()).output().unwrap();
    Run::new(&command, output)
}

/// Runs the program on the captures of a recorded job, in that job's folder.
pub(crate) fn railscope_on(recording: &Recording, arguments: &[&str]) -> Run {
    let mut command = command(arguments);
    command.args(recording.captures()).current_dir(recording.folder());
    let output = command.stdin(Stdio::null()).output().unwrap();
    Run::new(&command, output)
}

fn railscope_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut command = command(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run::new(&command, output)
}

/// The JSON report of a successful run.
fn analyze(arguments: &[&str]) -> Value {
    let arguments = ["analyze", "--format", "json"].iter().chain(arguments);
    serde_json::from_str(&railscope(arguments).warns()).unwrap()
}

fn write(directory: &tempfile::TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn unpacked(file: &str) -> Vec<u8> {
    use std::io::Read as _;
    let packed = std::fs::read(fixture::path(file)).unwrap();
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}
