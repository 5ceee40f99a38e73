//! Progress is shown on a terminal, and nowhere else.

use std::process::Command;

use super::railscope;
use crate::support::{fixture, require};

const FILE: &str = "write_bw_rc_s128.pcap.gz";

/// Runs a shell command on a pseudo-terminal; returns what it showed.
pub(super) fn on_a_terminal(line: &str) -> String {
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", line, "/dev/null"]);
    script.current_dir(fixture::folder()).env("TERM", "xterm").env_remove("NO_COLOR");
    // No test waits for a key.
    script.env("RAILSCOPE_PAGER", "cat").env_remove("COLUMNS");
    let output = script.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a redraw of the progress bar begins with: carriage return, clear line.
const CLEAR_LINE: &str = "\r\x1b[2K";

#[test]
fn progress_shows_on_a_terminal_and_leaves_nothing_behind() {
    if !require::has("progress_shows_on_a_terminal_and_leaves_nothing_behind", "script") {
        return;
    }
    let railscope = env!("CARGO_BIN_EXE_railscope");
    let shown = on_a_terminal(&format!("{railscope} analyze {FILE}"));
    let (bar, report) = shown.rsplit_once(CLEAR_LINE).expect("the bar was drawn and cleared");
    assert!(bar.contains("B/s"), "{bar}");
    assert!(report.contains("RDMA ports"), "{report}");
    assert!(report.contains("\x1b[1m"), "a terminal has colours");

    let shown = on_a_terminal(&format!("{railscope} packets {FILE}"));
    assert!(!shown.contains(CLEAR_LINE), "lines on the terminal need no bar");
    let shown = on_a_terminal(&format!("{railscope} analyze {FILE} 2> /dev/null"));
    assert!(!shown.contains(CLEAR_LINE));
}

#[test]
fn an_interrupt_leaves_the_terminal_as_it_was() {
    if !require::has("an_interrupt_leaves_the_terminal_as_it_was", "script") {
        return;
    }
    let railscope = env!("CARGO_BIN_EXE_railscope");
    // Its input stays open, so that the bar is visible when it is interrupted.
    let shown = on_a_terminal(&format!(
        "stty -g; (cat {FILE}; sleep 1.5) | timeout --foreground -s INT 1 {railscope} analyze -; \
         echo; stty -g"
    ));
    assert!(shown.contains(CLEAR_LINE) && !shown.contains("RDMA ports"), "{shown}");
    let modes: Vec<&str> = shown.lines().filter(|line| line.matches(':').count() > 8).collect();
    assert_eq!(modes.len(), 2, "{shown}");
    assert_eq!(modes[0], modes[1]);
    assert!(!shown.contains("\x1b[?25l"), "the cursor is hidden");
}

#[test]
fn no_progress_in_a_pipe() {
    assert!(!railscope(["analyze", FILE]).succeeds().contains('\r'));
}
