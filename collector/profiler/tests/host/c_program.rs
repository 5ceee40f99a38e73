//! `host.c` beside this file, compiled and run: a program that is no Rust loads the library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sys::built;

/// Whether a program runs; says so if it does not, and fails where everything is required.
#[expect(clippy::explicit_write, reason = "`eprintln!` of a passing test is not shown")]
#[expect(clippy::disallowed_methods, reason = "the suite's only switch")]
fn has(test: &str, program: &str) -> bool {
    let runs =
        Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
    if !runs {
        let requires_all = std::env::var("RAILSCOPE_REQUIRE_ALL").is_ok_and(|value| value == "1");
        assert!(!requires_all, "{test}: {program} is required and does not run");
        writeln!(std::io::stderr(), "SKIP {test}: {program} does not run on this machine").unwrap();
    }
    runs
}

fn compile(folder: &Path) -> PathBuf {
    let program = folder.join("host");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/host/host.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-O1", "-o"]).arg(&program).arg(source).arg("-ldl");
    assert!(compiler.status().unwrap().success());
    program
}

/// Sets the folders; other tests change the other variables meanwhile.
fn set<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    for name in ["MASK", "RING_KIB", "LIMIT_MIB", "NEXT"] {
        command.env_remove(format!("RAILSCOPE_PROFILER_{name}"));
    }
    command.env("RAILSCOPE_PROFILER_DIR", folder.join("files"));
    command.env("RAILSCOPE_PROFILER_SHM", folder)
}

#[test]
fn a_program_in_c_loads_it_as_nccl_does() {
    if !has("c_program", "cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    for version in 1..=7 {
        let mut host = Command::new(&program);
        host.arg(built()).args([&version.to_string(), "2"]);
        assert!(set(&mut host, folder.path()).status().unwrap().success(), "version {version}");
    }
    assert_eq!(std::fs::read_dir(folder.path().join("files")).unwrap().count(), 7);
}

#[test]
fn valgrind_finds_no_error_and_no_leak() {
    if !has("valgrind", "cc") || !has("valgrind", "valgrind") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path());
    for version in [1, 3, 4, 7] {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["-q", "--error-exitcode=9", "--leak-check=full"]);
        valgrind.arg(&program).arg(built()).args([&version.to_string(), "2"]);
        let output = set(&mut valgrind, folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn seven_symbols_of_data_and_nothing_else() {
    if !has("symbols", "nm") {
        return;
    }
    let output = Command::new("nm").args(["-D", "-S", "--defined-only"]).arg(built()).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    let symbols: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().skip(1).collect()).collect();
    let names: Vec<String> = (1..=7).map(|version| format!("ncclProfiler_v{version}")).collect();
    let wanted: Vec<Vec<&str>> =
        names.iter().map(|name| vec!["0000000000000030", "D", name.as_str()]).collect();
    assert_eq!(symbols, wanted);
}
