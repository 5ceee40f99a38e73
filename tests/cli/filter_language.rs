//! `railscope packets --filter`: every field on real captures, mistakes, and files that are written.

use std::path::PathBuf;

use super::railscope;
use crate::support::recording::Recording;
use crate::support::{fixture, require, tshark};

/// A job with 1 % loss, by its captures.
fn job() -> (Recording, Vec<String>) {
    let recording = Recording::unpack("async-loss1pct-2.28.9");
    let path = |name: &String| recording.folder().join(name).to_str().unwrap().to_owned();
    let captures = recording.captures().iter().map(path).collect();
    (recording, captures)
}

fn selected(filter: &str, captures: &[String]) -> usize {
    let arguments = ["packets", "--filter", filter].into_iter().map(str::to_owned);
    let outcome = railscope(arguments.chain(captures.iter().cloned()));
    outcome.warns().lines().count()
}

#[test]
fn every_field_selects_some_packets_and_not_all() {
    let (_recording, captures) = job();
    let all = selected("frame >= 1", &captures);
    for filter in [
        "roce",
        "tcp",
        "ack",
        "nak",
        "first",
        "last",
        "retransmitted",
        "host == 10.0.0.1",
        "src in 10.0.0.2/31",
        "dst != 10.0.0.3",
        "opcode == RDMA_WRITE_FIRST",
        "opcode in {ACKNOWLEDGE, 0x07}",
        "transport == RC",
        "qp in {1, 0x10e}",
        "psn < 100",
        "pkey == 0xffff",
        "payload > 4000",
        "port == 4791",
        "size in 60..100",
        "tap == 1",
        "frame in 5..7",
        "time in 1s..2.5s",
        "rank == 3",
        "rank == 1 and peer == 2",
        "src_rank == 3",
        "dst_rank == 3 and NOT nak",
        "channel == 1",
        "collective == 3",
        "step in 2..3",
        "immediate >= 0",
    ] {
        let some = selected(filter, &captures);
        assert!(some > 0 && some < all, "{filter}: {some} of {all}");
        let others = selected(&format!("not ({filter})"), &captures);
        assert_eq!(some + others, all, "{filter}");
    }
    for filter in ["ecn == NOT_ECT", "dscp == 0"] {
        assert_eq!(selected(filter, &captures), all, "{filter}");
    }
    for filter in
        ["udp and tcp", "pause", "mirrored", "rnr", "cnp", "ce", "cut and ack", "vlan == 7"]
    {
        assert_eq!(selected(filter, &captures), 0, "{filter}");
    }
    let parts = ["nak and rank == 2", "nak and not rank == 2"];
    let sum: usize = parts.iter().map(|filter| selected(filter, &captures)).sum();
    assert_eq!(sum, selected("nak", &captures));
}

#[test]
fn what_tshark_selects_too() {
    if !require::has("what_tshark_selects_too", "tshark") {
        return;
    }
    let capture = fixture::path("loss1_send_bw_post.pcap.gz");
    let path = capture.to_str().unwrap().to_owned();
    for (own, theirs) in [
        ("qp == 0x13", "infiniband.bth.destqp == 0x13"),
        ("psn in 5..100", "infiniband.bth.psn >= 5 && infiniband.bth.psn <= 100"),
        ("opcode == ACKNOWLEDGE", "infiniband.bth.opcode == 17"),
        ("src == 10.0.0.1 and size > 500", "ip.src == 10.0.0.1 && frame.len > 500"),
        ("time <= 100ms", "frame.time_relative <= 0.1"),
    ] {
        let seen = tshark::count(&capture, theirs);
        assert_eq!(selected(own, std::slice::from_ref(&path)), seen, "{own}");
    }
}

#[test]
fn mistakes_are_pointed_at() {
    let capture = fixture::path("loss1_send_bw_post.pcap.gz");
    for (filter, what, mark) in [
        ("", "the filter is empty", "  ^"),
        ("nack", "no field `nack`; did you mean nak?", "  ^^^^"),
        ("opcode == NAK", "write `nak`", "            ^^^"),
        ("rank = 3", "compare with ==", "       ^"),
        ("rank == x", "`x` is not a number", "          ^"),
        ("(nak or rnr", "is not closed", "  ^"),
        ("nak)", "closes nothing", "     ^"),
        ("nak rnr", "by `and` or `or`", "      ^^^"),
        ("step in 7..4", "this range is empty", "          ^^^^"),
        ("host == 10.0.0.300", "is not an address", "          ^^^^^^^^^^"),
        ("host in 10.0.0.0/33", "10.0.0.0 has 32 bits", "          ^^^^^^^^^^^"),
        ("host > 10.0.0.1", "has no order", "       ^"),
        ("psn", "compare `psn`", "     ^"),
        ("nak == 1", "write `nak` or `not nak`", "         ^"),
        ("time > soon", "write 1.5s or 200ms", "         ^^^^"),
        ("qp in {1,2", "not closed by `}`", "        ^"),
        ("not", "a test is missing", "     ^"),
        ("rank ==", "a value is missing", "         ^"),
        ("opcode == RDMA_WRITE_FRIST", "did you mean RDMA_WRITE_FIRST?", "            ^^^^"),
        ("ecn == foo", "write one of NOT_ECT", "         ^^^"),
        ("host == \"a\"", "without quotes", "          ^"),
        ("nak & rnr", "write && or and", "      ^"),
        ("qp == 0x1ffffffffffffffff", "is not a number", "        ^^^^"),
        ("tap == -1", "is not a number", "         ^^"),
        ("psn == 1..3", "a range needs `in`", "          ^^"),
        ("rank == {0, 1}", "a set needs `in`", "          ^"),
        ("rank in (0, 1)", "a set is in braces", "          ^"),
        ("dest_qpn == 3", "did you mean qp?", "  ^^^^^^^^"),
    ] {
        let said = railscope(["packets", "--filter", filter, capture.to_str().unwrap()]).fails();
        assert!(said.contains(what), "{filter}: {said}");
        assert!(said.lines().any(|line| line.starts_with(mark)), "{filter}: {said}");
    }
    let deep = "(".repeat(1_000) + "nak";
    let said = railscope(["packets", "--filter", &deep, capture.to_str().unwrap()]).fails();
    assert!(said.contains("nested parentheses"), "{said}");
}

/// What came before a range of time tells what is within it.
#[test]
fn a_range_of_time_changes_no_number() {
    let (_recording, captures) = job();
    for filter in ["step == 3", "collective == 12", "retransmitted"] {
        let arguments = ["packets", "--filter", filter, "--since", "3s", "--until", "4s"];
        let outcome =
            railscope(arguments.into_iter().map(str::to_owned).chain(captures.iter().cloned()));
        let within = outcome.warns().lines().count();
        let expected = selected(&format!("{filter} and time in 3s..4s"), &captures);
        assert_eq!(within, expected, "{filter}");
    }
}

/// Two jobs that run at the same time have training steps of their own.
#[test]
fn each_job_has_its_own_training_steps() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("two_jobs");
    railscope(["simulate", "two_jobs", "--out", out.to_str().unwrap()]).warns();
    let mut captures: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .filter(|path| path.ends_with(".pcapng"))
        .collect();
    captures.sort();
    let report = railscope(
        ["analyze", "--format", "json"]
            .into_iter()
            .map(str::to_owned)
            .chain(captures.iter().cloned()),
    );
    let report: serde_json::Value = serde_json::from_str(&report.warns()).unwrap();
    let iterations = report["iterations"].as_array().unwrap();
    let one = iterations.iter().find(|one| one["iteration"] == 4).unwrap();
    let seconds = |key: &str| one[key].as_i64().unwrap() as f64 / 1e9;
    let (start, end) = (seconds("start_ns"), seconds("end_ns"));
    let communicator = one["communicator"].as_str().unwrap();
    let flows = report["flows"].as_array().unwrap().iter();
    let own = flows.filter(|flow| flow["owner"]["communicator"] == communicator);
    let numbers: Vec<String> = own.map(|flow| flow["dest_qpn"].to_string()).collect();
    let within = format!("qp in {{{}}} and time in {start}..{end}", numbers.join(", "));
    let all = selected(&within, &captures);
    let own = selected(&format!("{within} and step == 4"), &captures);
    assert!(all > 100 && own * 100 > all * 95, "{own} of {all}");
}

#[test]
fn what_is_written_can_be_read_again() {
    let (_recording, captures) = job();
    let folder = tempfile::tempdir().unwrap();
    let some: PathBuf = folder.path().join("some.pcapng");
    let written = some.to_str().unwrap();
    let filter = "nak or retransmitted";
    let arguments = ["packets", "--filter", filter, "--write", written].map(str::to_owned);
    railscope(arguments.into_iter().chain(captures.iter().cloned())).warns();
    let expected = selected(filter, &captures);
    assert!(expected > 100, "{expected}");
    assert_eq!(selected("frame >= 1", &[written.to_owned()]), expected);
    if require::has("what_is_written_can_be_read_again", "tshark") {
        assert_eq!(tshark::count(&some, "infiniband"), expected);
    }
    let other = folder.path().join("other.pcapng");
    std::fs::hard_link(&some, &other).unwrap();
    for target in [written, other.to_str().unwrap()] {
        let own = ["packets", "--write", target, written];
        assert!(railscope(own).fails().contains("is one of the captures"), "{target}");
    }
}

#[test]
fn comma_separated_values() {
    let capture = fixture::path("loss1_send_bw_post.pcap.gz");
    let arguments = ["packets", "--format", "csv", "--filter", "nak and frame < 400"];
    let text = railscope(arguments.into_iter().chain([capture.to_str().unwrap()])).succeeds();
    let mut lines = text.lines();
    let names = lines.next().unwrap();
    assert!(names.starts_with("frame,tap,time_s,src,dst,"), "{names}");
    let columns = names.split(',').count();
    let rows: Vec<&str> = lines.collect();
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row.split(',').count(), columns, "{row}");
        assert!(row.ends_with(",NAK PSN sequence error"), "{row}");
    }
}
