//! `--filter` of `packets` and `analyze`: every field on real captures, mistakes, and files that are
//! written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

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
        "late",
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
    let report: Value = serde_json::from_str(&report.warns()).unwrap();
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

/// The packets that a filter selects, with what an analysis knows of them.
fn packets(filter: &str, captures: &[String]) -> Vec<Value> {
    let arguments = ["packets", "--format", "json", "--context", "--filter", filter];
    let outcome = railscope(arguments.map(str::to_owned).iter().chain(captures));
    outcome.warns().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn analysed(options: &[&str], captures: &[String]) -> Value {
    let arguments = ["analyze", "--format", "json"].iter().chain(options);
    let arguments = arguments.map(|one| (*one).to_owned());
    let outcome = railscope(arguments.chain(captures.iter().cloned()));
    serde_json::from_str(&outcome.warns()).unwrap()
}

fn numbers(all: &Value, key: &str) -> BTreeSet<u64> {
    all.as_array().unwrap().iter().filter_map(|one| one[key].as_u64()).collect()
}

#[test]
fn an_analysis_shows_flows_with_such_packets() {
    let (_recording, captures) = job();
    let all = analysed(&[], &captures);
    for filter in ["retransmitted", "nak and rank == 2", "step in 2..3 and channel == 1"] {
        let shown = analysed(&["--filter", filter], &captures);
        let expected = numbers(&packets(filter, &captures).into(), "flow");
        assert_eq!(numbers(&shown["flows"], "id"), expected, "{filter}");
        let flows = all["flows"].as_array().unwrap().len();
        assert!(!expected.is_empty() && expected.len() < flows, "{filter}");
        assert_eq!(shown["collectives"], all["collectives"], "counts do not change");
        assert_eq!(shown["tool"]["options"]["filter"], filter);
    }
    let capture = "loss1_send_bw_post.pcap.gz";
    let naks = railscope(["analyze", "--filter", "nak", capture]).warns();
    assert!(naks.starts_with("● packets are lost on the way to 10.0.0.2"), "{naks}");
    assert!(naks.contains("filtered: --filter 'nak'"), "{naks}");
    let other = railscope(["analyze", "--filter", "host == 10.0.0.3", capture]).warns();
    assert!(!other.contains("No problem found."), "{other}");
    let said = railscope(["analyze", "--filter", "psn == 16777217", capture]).stderr;
    assert!(said.contains("no packet is selected by the filter `psn == 16777217`"), "{said}");
    let wrong = railscope(["analyze", "--filter", "nack", capture]).fails();
    assert!(wrong.contains("did you mean nak?"), "{wrong}");
    let log = fixture::path("logs/ring-2.18.6.log.gz");
    let without = ["analyze", "--filter", "nak", "--nccl-log", log.to_str().unwrap()];
    assert!(railscope(without).fails().contains("name captures"));
    let pipe = railscope(["analyze", "--filter", "nak", "-"]).fails();
    assert!(pipe.contains("reads the input twice, which a pipe cannot be"), "{pipe}");
}

#[test]
fn packets_have_the_ranks_of_their_flows() {
    let (_recording, captures) = job();
    let report = analysed(&[], &captures);
    let mut known = 0;
    for packet in packets("roce and frame < 3000", &captures) {
        let Some(id) = packet["flow"].as_u64() else { continue };
        let flow = &report["flows"][id as usize];
        for (own, theirs) in [("tap", "tap"), ("src", "src"), ("dest_qpn", "dest_qpn")] {
            assert_eq!(packet[own], flow[theirs], "{packet}");
        }
        for (own, theirs) in
            [("src_rank", "rank"), ("dst_rank", "peer_rank"), ("channel", "channel")]
        {
            assert_eq!(packet[own], flow["owner"][theirs], "{packet}");
        }
        known += usize::from(packet["src_rank"].is_u64());
    }
    assert!(known > 1000, "{known}");
    let line = ["packets", "--filter", "retransmitted and step == 3"].map(str::to_owned);
    let lines = railscope(line.iter().chain(&captures)).warns();
    let first = lines.lines().next().unwrap();
    assert!(first.contains(" rank ") && first.contains(" step 3 retransmitted"), "{first}");
}

#[test]
fn late_packets_are_those_of_the_straggler() {
    let recording = Recording::unpack("async-straggler-2.27.5");
    let path = |name: &String| recording.folder().join(name).to_str().unwrap().to_owned();
    let captures: Vec<String> = recording.captures().iter().map(path).collect();
    let report = analysed(&[], &captures);
    let late = packets("late", &captures);
    assert!(late.len() > 100, "{}", late.len());
    for packet in &late {
        let collective = &report["collectives"][packet["collective"].as_u64().unwrap() as usize];
        assert_eq!(packet["src_rank"], collective["straggler"]["rank"], "{packet}");
    }
}

/// Packets of data against the report's own count, message by message.
#[test]
fn packets_belong_to_the_collective_of_their_message() {
    let recording = Recording::unpack("async-straggler-2.27.5");
    let path = |name: &String| recording.folder().join(name).to_str().unwrap().to_owned();
    let captures: Vec<String> = recording.captures().iter().map(path).collect();
    let report = analysed(&["--detail", "full", "--detail-file", "/dev/null"], &captures);
    let mut expected: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for transfer in report["transfers"].as_array().unwrap() {
        let Some(collective) = transfer["collective"].as_u64() else { continue };
        let of_one = (transfer["connection"].as_u64().unwrap(), collective);
        *expected.entry(of_one).or_default() += transfer["packets"].as_u64().unwrap();
    }
    let mut found: BTreeMap<(u64, u64), BTreeMap<u64, u64>> = BTreeMap::new();
    for packet in packets("roce and not ack", &captures) {
        let Some(flow) = packet["flow"].as_u64() else { continue };
        let owner = &report["flows"][flow as usize]["owner"];
        let Some(collective) = packet["collective"].as_u64() else { continue };
        if owner["role"] == "data" {
            let of_one = (owner["connection"].as_u64().unwrap(), collective);
            *found.entry(of_one).or_default().entry(flow).or_default() += 1;
        }
    }
    assert!(expected.len() > 50, "{}", expected.len());
    for (one, packets) in expected {
        // Every tap on the path saw all of them.
        let flows = &found[&one];
        assert!(flows.values().all(|count| *count == packets), "{one:?}: {flows:?}, not {packets}");
    }
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
        assert!(row.ends_with(",NAK PSN sequence error,,,,,,,,"), "{row}");
    }
}
