//! The help text of every command.

use super::railscope;

#[cfg(target_os = "linux")]
const COMMANDS: [&str; 11] = [
    "analyze",
    "capture",
    "compare",
    "doctor",
    "explain",
    "metrics",
    "packets",
    "drive",
    "scrub",
    "schema",
    "completions",
];
#[cfg(not(target_os = "linux"))]
const COMMANDS: [&str; 8] =
    ["analyze", "compare", "explain", "metrics", "packets", "scrub", "schema", "completions"];

#[test]
fn every_command_teaches_by_examples_within_100_columns() {
    for command in COMMANDS {
        for asked in [["help", command], [command, "--help"]] {
            let help = railscope(asked).succeeds();
            let at = help.find("\nExamples:\n").unwrap_or_else(|| panic!("{help}"));
            let examples = &help[at..];
            assert!(examples.contains(&format!("railscope {command}")), "{help}");
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{command}: {line}");
            }
        }
        assert!(railscope([command, "-h"]).succeeds().contains("Usage: railscope"));
    }
}

#[test]
fn options_stand_under_the_heading_that_they_belong_to() {
    let help = railscope(["analyze", "--help"]).succeeds();
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
    assert!(at("\nOptions:") < at("--format") && at("--max-flows") < at("\nTime:"));
    assert!(at("\nTime:") < at("--since") && at("--until") < at("\nShow only:"));
    assert!(at("\nShow only:") < at("--host") && at("--opcode") < at("\nExamples:"));
}

#[test]
fn without_a_command_help_is_shown_and_that_is_wrong_usage() {
    let run = railscope([] as [&str; 0]);
    let help = railscope(["help"]).succeeds();
    assert_eq!(run.stderr, help);
    run.fails();
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
    for group in ["Look at a capture", "Make traffic", "For programs and shells"] {
        assert!(help.contains(&format!("\n{group}:\n")), "{help}");
    }
    assert!(help.contains("Exit codes: 0 success; 1 a verdict reached --fail-on; 2 "), "{help}");
    assert!(help.contains("railscope analyze host3.pcapng"), "{help}");
}

#[test]
fn the_version_is_the_packages() {
    let version = format!("railscope {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(railscope(["--version"]).succeeds(), version);
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = railscope(["completions", shell]).succeeds();
        assert!(script.contains("max-flows"), "{shell}");
    }
    let said = railscope(["completions", "tcsh"]).fails();
    assert!(said.contains("'tcsh'") && said.contains("bash, elvish, fish"), "{said}");
}
