//! Where the output goes: closed pipes, full disks, colours.

use std::fs::File;
use std::process::Stdio;

use super::{command, railscope};

const FILE: &str = "reorder_write_bw_post.pcap.gz";

/// Every command that prints, on a file that makes it print a lot.
const PRINTING: [&[&str]; 10] = [
    &["analyze", FILE],
    &["analyze", "--format", "json", FILE],
    &["packets", FILE],
    &["packets", "--format", "json", FILE],
    &["schema"],
    &["completions", "bash"],
    &["--help"],
    &["--version"],
    &["help", "analyze"],
    &["packets", "--help"],
];

/// No command may panic, whatever becomes of its output.
#[test]
fn no_command_panics_on_full_disks() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let others: [&[&str]; 9] = [
        &["analyze", "nosuch.pcap"],
        &["analyze", "--nosuch"],
        &["agent", "--check"],
        &["agent", "--set", "nosuch.key=1"],
        &["capture", "save", "--socket", "/nosuch"],
        &["explain", "--hang", FILE],
        &["findings"],
        &["metrics"],
        &["packets", "--write", "/dev/full", FILE],
    ];
    for arguments in PRINTING.iter().copied().chain(others) {
        let output = command(arguments).stdout(full()).stderr(full()).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    for arguments in PRINTING {
        let mut child =
            command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Closed before anything is written: every write fails.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    for arguments in PRINTING {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let expected = "error: write to standard output: No space left on device (os error 28)\n";
        assert_eq!((output.status.code(), said.as_str()), (Some(2), expected), "{arguments:?}");
    }
}

#[test]
fn colours_only_where_they_belong() {
    let plain = railscope(["analyze", FILE]).succeeds();
    assert!(!plain.contains('\x1b'), "a pipe has no colours");
    let forced = railscope(["analyze", "--color", "always", FILE]).succeeds();
    assert!(forced.contains("\x1b[1m"), "{forced}");
    assert_eq!(railscope(["analyze", "--color", "never", FILE]).succeeds(), plain);

    let no_color = |when| {
        let output = command(["analyze", "--color", when, FILE]).env("NO_COLOR", "1").output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(no_color("auto"), plain);
    assert_eq!(no_color("always"), forced, "the option overrides the variable");

    let json = railscope(["analyze", "--color", "always", "--format", "json", FILE]).succeeds();
    assert!(!json.contains('\x1b'), "JSON never has colours");
}
