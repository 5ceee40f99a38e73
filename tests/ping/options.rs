//! Options, help and errors of the command.

use std::process::Command;

use crate::support::railscope::PROGRAM;

/// Exit code, standard output, standard error.
fn ping(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.args(["doctor", "ping"]).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn help_teaches_within_100_columns() {
    let (code, help, _) = ping(&["--help"]);
    assert_eq!(code, Some(0));
    for part in ["\nExamples:\n", "srun --label railscope doctor ping", "Exit codes: 0 "] {
        assert!(help.contains(part), "{help}");
    }
    for line in help.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn wrong_use_is_said_with_the_way_out() {
    for (arguments, expected) in [
        (&["n1"][..], "name at least two hosts"),
        (&["n1", "n2", "n1"], "n1 is named twice"),
        (&["n1=203.0.113.1", "n2=203.0.113.2"], "none of the hosts n1 n2 is this machine"),
        (&["n1=203.0.113.1", "n2=203.0.113.2"], "--as NAME"),
        (&["n1", "n2", "--as", "n3"], "--as n3: the hosts are n1 n2"),
        (&["n1", "n2", "--as", "n1", "--seconds", "60"], "write 0.05 to 10"),
        (&["n1", "n2", "--as", "n1", "--wait", "5"], "is not a time"),
    ] {
        let (code, stdout, stderr) = ping(arguments);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_taken_port_is_said() {
    let taken = std::net::TcpListener::bind("[::]:0")
        .or_else(|_| std::net::TcpListener::bind("0.0.0.0:0"))
        .unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, _, stderr) = ping(&["a=127.0.0.1", "b=127.0.0.2", "--as", "a", "--port", &port]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("choose another one for all hosts with --port"), "{stderr}");
}
