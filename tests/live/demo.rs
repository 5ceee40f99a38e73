//! `railscope demo` finds what the ranks did, live, as root and as another user, and its capture
//! gives the same findings afterwards.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::outcome::agree;
use crate::support::{railscope, require};

/// A user without any privileges (Debian's `nobody`).
const NOBODY: u32 = 65_534;

fn demo(folder: &Path, user: Option<u32>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    command.arg("demo").arg(folder).current_dir("/");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let output = command.output().unwrap();
    let (out, error) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(output.status.success(), "{error}");
    String::from_utf8(out).unwrap()
}

/// On a busy machine other ranks may be late too; only what is always found is checked.
fn check(said: &str) {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "4 of 4 ranks and 8 of 8 queue pairs, and found 24 of 24 training steps;",
        "rank 2 is the straggler in 3 of the 3 steps that it delayed",
        "CE marks are reported in 3 of the 3 marked steps, and in 0 of the others",
        "training step 12:",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn it_finds_what_the_ranks_did_and_its_capture_says_the_same() {
    let test = "it_finds_what_the_ranks_did_and_its_capture_says_the_same";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    check(&demo(folder.path(), None));
    let live = std::fs::read(folder.path().join("report.json")).unwrap();
    let live: Value = serde_json::from_slice(&live).unwrap();
    agree(&live, &railscope::analyze(&[folder.path().join("capture.pcapng")]));
    for file in ["trace.json", "truth.jsonl", "logs"] {
        assert!(folder.path().join(file).exists(), "{file}");
    }
}

#[test]
fn anybody_may_run_it() {
    let test = "anybody_may_run_it";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["-rn", "true"]).uid(NOBODY).gid(NOBODY);
    let mut own = Command::new(env!("CARGO_BIN_EXE_railscope"));
    own.arg("--version").uid(NOBODY).gid(NOBODY);
    if !require::works(test, &mut unshare, "a user namespace for any user")
        || !require::works(test, &mut own, "a program that any user may run")
    {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    check(&demo(folder.path(), Some(NOBODY)));
}
