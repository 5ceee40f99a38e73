//! Wrong usage: what is said.

use std::process::{Command, Stdio};

use crate::support::railscope::PROGRAM;

fn refused(arguments: &[&str]) -> String {
    let mut command = Command::new(PROGRAM);
    command.arg("capture").args(arguments).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn errors_teach() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for (arguments, said) in [
        (&[][..], "railscope capture -i eth0 --keep 10min --on finding:warning"),
        (&["-i", "lo"], "-o FILE writes everything"),
        (&["-i", "lo", "-o", path], "is a folder"),
        (&["-i", "nosuch0", "-o", "/dev/null"], "no interface nosuch0; this host has:"),
        (&["-i", "lo,lo", "-o", "x"], "given twice"),
        (&["-i", "lo", "-o", "x", "-s", "12"], "not between 64"),
        (&["-i", "lo", "-o", "x", "-Y", "rank == 3"], "`rank` is only known once"),
        (&["-i", "lo", "-o", "x", "-Y", "nakk"], "did you mean nak?"),
        (&["-i", "lo", "-o", "x", "--compress"], "--compress is about a ring"),
        (&["-i", "lo", "--on", "fail"], "needs a command"),
        (&["-i", "lo", "--on", "loss"], "--on finding:loss"),
        (&["-i", "lo", "--keep", "0s"], "too short"),
        (&["-i", "lo", "--keep", "1m", "--max-size", "10"], "`10` is"),
        (&["-i", "lo", "--keep", "1m", "-o", "-"], "name a folder"),
        (&["-i", "lo", "--keep", "1m", "--ring", "/proc/ring"], "--ring DIR"),
        (&["-i", "lo", "-o", "/nonexistent/x.pcapng"], "write /nonexistent/x.pcapng"),
        (&["-i", "lo", "-o", "x", "--netns", "/nonexistent"], "network namespace"),
        (&["save", "--socket", "/nonexistent"], "ask the capture at /nonexistent"),
    ] {
        let refusal = refused(arguments);
        assert!(refusal.contains(said), "{arguments:?}: {refusal}");
    }
}
