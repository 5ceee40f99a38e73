//! The pager: on a terminal whose screen is shorter than the report, and nowhere else.

use super::railscope;
use super::terminal::on_a_terminal;
use crate::support::require;

const FILE: &str = "loss1_send_bw_post.pcap.gz";

/// Marks every line that went through it.
const MARKING: &str = "RAILSCOPE_PAGER='sed s/^/paged:/'";

/// What a terminal of ten lines shows of a shell command line; `railscope` is the program.
fn on_ten_lines(line: &str) -> String {
    let line = line.replace("railscope ", &format!("{} ", env!("CARGO_BIN_EXE_railscope")));
    on_a_terminal(&format!("stty rows 10 cols 80; {line}; echo code $?")).replace('\r', "")
}

fn has_script(test: &str) -> bool {
    require::has(test, "script")
}

#[test]
fn what_is_longer_than_the_screen_goes_through_the_pager() {
    if !has_script("what_is_longer_than_the_screen_goes_through_the_pager") {
        return;
    }
    let shown = on_ten_lines(&format!("{MARKING} railscope analyze --fail-on warning {FILE}"));
    assert!(shown.contains("\npaged:"), "{shown}");
    assert!(shown.contains("paged:\x1b[1mFLOW"), "colours are kept: {shown}");
    assert!(shown.ends_with("code 1\n"), "the exit code is kept: {shown}");

    let explain = format!("{MARKING} railscope explain --qp 10.0.0.2/0x13 {FILE}");
    assert!(on_ten_lines(&explain).contains("\npaged:"));
    let others = format!("PAGER='sed s/^/other:/' RAILSCOPE_PAGER= railscope analyze {FILE}");
    assert!(!on_ten_lines(&others).contains("other:"), "ours comes first, and is empty");
    let others = others.replace("RAILSCOPE_PAGER= ", "env -u RAILSCOPE_PAGER ");
    assert!(on_ten_lines(&others).contains("\nother:"));
}

#[test]
fn less_gets_the_options_that_git_gives_it() {
    if !has_script("less_gets_the_options_that_git_gives_it") {
        return;
    }
    let pager = "RAILSCOPE_PAGER='echo [$LESS]; cat'";
    let shown = on_ten_lines(&format!("unset LESS; {pager} railscope analyze {FILE}"));
    assert!(shown.contains("[FRX]\n"), "{shown}");
    let shown = on_ten_lines(&format!("LESS=S {pager} railscope analyze {FILE}"));
    assert!(shown.contains("[S]\n"), "{shown}");
}

#[test]
fn without_a_pager_the_text_is_printed() {
    if !has_script("without_a_pager_the_text_is_printed") {
        return;
    }
    let plain = on_ten_lines(&format!("railscope analyze --no-pager {FILE}"));
    assert!(plain.contains("FLOW") && plain.ends_with("code 0\n"), "{plain}");
    // The progress bar comes before it.
    let report = |shown: &str| shown.split_once('●').unwrap().1.to_owned();
    for variables in [
        "RAILSCOPE_PAGER=no-such-program",
        "RAILSCOPE_PAGER='no-such-program \"$LESS\" 2> /dev/null'",
        "RAILSCOPE_PAGER=cat",
        "RAILSCOPE_PAGER=",
    ] {
        let shown = on_ten_lines(&format!("{variables} railscope analyze {FILE}"));
        assert_eq!(report(&shown), report(&plain), "{variables}");
    }
    let shown = on_ten_lines(&format!("{MARKING} railscope analyze --no-pager {FILE}"));
    assert_eq!(report(&shown), report(&plain));
}

#[test]
fn a_pager_that_quits_early_is_no_error() {
    if !has_script("a_pager_that_quits_early_is_no_error") {
        return;
    }
    for pager in ["true", "head -n 1"] {
        let shown = on_ten_lines(&format!("RAILSCOPE_PAGER='{pager}' railscope analyze {FILE}"));
        assert!(shown.ends_with("code 0\n") && !shown.contains("error"), "{shown}");
        assert!(!shown.contains("FLOW"), "{shown}");
    }
}

#[test]
fn what_fits_the_screen_and_what_goes_into_a_pipe_needs_no_pager() {
    if !has_script("what_fits_the_screen_and_what_goes_into_a_pipe_needs_no_pager") {
        return;
    }
    let railscope = format!("{MARKING} railscope analyze {FILE}");
    assert!(!on_ten_lines(&format!("stty rows 200; {railscope}")).contains("paged:"));
    assert!(!on_ten_lines(&format!("{railscope} | cat")).contains("paged:"));
    let json = format!("{MARKING} railscope analyze --format json {FILE}");
    assert!(!on_ten_lines(&json).contains("paged:"));
}

#[test]
fn help_names_the_option() {
    for command in ["analyze", "explain"] {
        let help = railscope([command, "--help"]).succeeds();
        assert!(help.contains("--no-pager") && help.contains("RAILSCOPE_PAGER"), "{help}");
    }
}
