//! Every file that others published and that `RAILSCOPE_WILD` leads to: it is read, or refused with a reason.
//! `--nocapture` prints a table.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Folders beside that of the logs.
const FOLDERS: &[&str] = &["wild-inputs", "public-pcaps"];

/// What describes the files, and is none of them.
const ABOUT: &[&str] = &["README.md", "INDEX.tsv"];

#[test]
fn every_file_is_read_or_refused_with_a_reason() {
    let Some(logs) = std::env::var_os("RAILSCOPE_WILD").map(PathBuf::from) else {
        let reason =
            "SKIP every_file_is_read_or_refused_with_a_reason: RAILSCOPE_WILD names no folder";
        return writeln!(std::io::stderr(), "{reason}").unwrap();
    };
    println!("| file | read | exit code | first line |\n|---|---|--:|---|");
    for folder in FOLDERS {
        let Ok(entries) = logs.with_file_name(folder).read_dir() else { continue };
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| !ABOUT.iter().any(|name| file.ends_with(name)));
        files.sort();
        files.iter().for_each(|file| judge(file));
    }
}

fn judge(file: &Path) {
    let run = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
        command.args(["analyze", "--format", format]).arg(file).output().unwrap()
    };
    let name = file.file_name().unwrap().to_string_lossy();
    let (text, json) = (run("text"), run("json"));
    let said = String::from_utf8(text.stdout).unwrap();
    let complaint = String::from_utf8(text.stderr).unwrap();
    let code = text.status.code().unwrap();
    let first = said.lines().chain(complaint.lines()).next().unwrap_or_default();
    let (read, notes) = match serde_json::from_slice::<Value>(&json.stdout) {
        Ok(report) => inputs(&report),
        Err(_) => (Vec::new(), Vec::new()),
    };
    println!("| {name} | {} | {code} | {} |", read.join(", "), first.replace('|', "\\|"));
    match code {
        // Nothing was read: the text says so, and why.
        0 if read.is_empty() => assert!(!notes.is_empty() && !said.is_empty(), "{name}: {said}"),
        0 => assert!(!first.contains("Nothing of this could be judged"), "{name}: {said}"),
        // Unreadable input (docs of `exit_code`): an error that names the file.
        2 => assert!(complaint.contains(&*name), "{name}: {complaint}"),
        other => panic!("{name}: exit code {other}"),
    }
    assert!(
        !first.starts_with("● no problem in the outputs"),
        "{name}: says nothing of it: {first}"
    );
}

/// What was read of each input, and why nothing was.
fn inputs(report: &Value) -> (Vec<String>, Vec<String>) {
    let all = report["inputs"].as_array().unwrap();
    let is_read = |input: &&Value| input["read"].as_u64().unwrap() > 0;
    let read = all.iter().filter(is_read);
    let read = read.map(|input| format!("{} {}", input["kind"].as_str().unwrap(), input["read"]));
    let notes = all.iter().filter_map(|input| input["note"].as_str()).map(str::to_owned);
    (read.collect(), notes.collect())
}
