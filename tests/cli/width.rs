//! Reports fit the line at any width, and no word is broken.

use std::collections::BTreeSet;

use super::{Run, command};
use crate::support::fixture;
use crate::support::recording::Recording;

const WIDTHS: [usize; 4] = [60, 80, 100, 200];

/// Wide enough for everything.
const WIDEST: usize = 1000;

/// What a table that leaves out columns says.
const NOT_SHOWN: &str = "not shown in ";

/// Recorded jobs with loss, several communicators, rails, IPv6, and an unknown start.
const JOBS: [&str; 6] = [
    "loss1pct-2.27.5",
    "split-2.27.5",
    "rails-2n2g2nic-2.27.5",
    "ipv6gid-2.27.5",
    "midjob-2.27.5",
    "ce-2.27.5",
];

/// Checks what `run` prints at each width.
fn check(what: &str, run: impl Fn(usize) -> String) {
    let all = run(WIDEST);
    let words: BTreeSet<&str> = all.split_whitespace().collect();
    for width in WIDTHS {
        let text = run(width);
        for line in text.lines() {
            let is_one_word = line.split_whitespace().nth(1).is_none();
            assert!(line.chars().count() <= width || is_one_word, "{what} at {width}: {line}");
        }
        for line in text.lines().filter(|line| !line.starts_with(NOT_SHOWN)) {
            // Long paths keep their end, long lists their start.
            let is_whole = |word: &str| {
                words.contains(word.trim_end_matches(','))
                    || words.contains(word)
                    || word.contains(['…', '+'])
            };
            let broken = line.split_whitespace().find(|word| !is_whole(word));
            assert_eq!(broken, None, "{what} at {width}: {line}");
        }
    }
}

fn shown(arguments: &[&str], folder: &std::path::Path, width: usize) -> String {
    let mut command = command(arguments);
    let output = command.current_dir(folder).env("COLUMNS", width.to_string()).output().unwrap();
    Run::new(&command, output).warns()
}

#[test]
fn fixtures_fit_the_line() {
    for one in fixture::all() {
        check(&one.file, |width| shown(&["analyze", &one.file], &fixture::folder(), width));
    }
    let four = ["A", "B", "C", "D"].map(|port| format!("ring4_allreduce_p{port}.pcap.gz"));
    let four = four.each_ref().map(String::as_str);
    let bursts = [&["analyze", "--line-rate", "800M"][..], &four].concat();
    check("bursts", |width| shown(&bursts, &fixture::folder(), width));
    let logs = ["analyze", "--nccl-log", "logs/*.log.gz"];
    check("logs", |width| shown(&logs, &fixture::folder(), width));
}

#[test]
fn jobs_fit_the_line() {
    for name in JOBS {
        let job = Recording::unpack(name);
        let captures = job.captures();
        let captures: Vec<&str> = captures.iter().map(String::as_str).collect();
        let analyze = [&["analyze"], captures.as_slice()].concat();
        check(name, |width| shown(&analyze, job.folder(), width));
    }
}

#[test]
fn explanations_fit_the_line() {
    let job = Recording::unpack("loss1pct-2.27.5");
    let captures = job.captures();
    let captures: Vec<&str> = captures.iter().map(String::as_str).collect();
    for (what, value) in
        [("--rank", "2"), ("--qp", "10.0.0.3/0x1ae"), ("--collective", "28"), ("--step", "4")]
    {
        let explain = [&["explain", what, value], captures.as_slice()].concat();
        check(what, |width| shown(&explain, job.folder(), width));
    }
}

#[test]
fn columns_that_make_no_sense_are_ignored() {
    let report = |columns: &str| {
        let mut command = command(["analyze", "loss1_send_bw_post.pcap.gz"]);
        let output = command.env("COLUMNS", columns).output().unwrap();
        Run::new(&command, output).succeeds()
    };
    assert_eq!(report(""), report("100"));
    assert_eq!(report("0"), report("100"));
    assert_eq!(report("wide"), report("100"));
    assert_eq!(report("1"), report("40"), "a table needs some room");
}
