//! `railscope drive --profiler`: what the plugin in each rank records, against the truth of the same job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::require;

/// Both read the clock at the same places, one after the other.
const APART_NS: u64 = 20_000;

/// The plugin as Cargo builds it, beside the program; `None` if it was not built.
fn plugin(test: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_railscope"));
    let path = program.with_file_name("libnccl_profiler_railscope.so");
    if !path.exists() {
        require::lacks(test, "the profiler plugin: cargo build -p railscope-profiler");
        return None;
    }
    Some(path)
}

fn railscope(words: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "RAILSCOPE_PROFILER_DIR"] {
        command.env_remove(name);
    }
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Sums of waits by rank, and transfers, of sends and then of receives.
type Sums = BTreeMap<u64, ([u64; 6], u64)>;

fn truth(folder: &Path) -> Sums {
    let text = std::fs::read_to_string(folder.join("truth.jsonl")).unwrap();
    let mut sums = Sums::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if record["record"] != "ring_step" {
            continue;
        }
        let at = if record["role"] == "sender" { 0 } else { 3 };
        let (waits, transfers) = sums.entry(record["rank"].as_u64().unwrap()).or_default();
        for one in record["waits_ns"].as_array().unwrap() {
            *transfers += 1;
            for place in 0..3 {
                waits[at + place] += one[place].as_u64().unwrap();
            }
        }
    }
    sums
}

fn recorded(report: &Value) -> Sums {
    let names = ["send_gpu", "peer", "send", "recv", "flush", "recv_gpu"];
    let proxies = report["call_records"]["proxies"].as_array().unwrap();
    let sums = proxies.iter().map(|one| {
        let waits = names.map(|name| one["waits"][name]["total_ns"].as_u64().unwrap());
        (one["rank"].as_u64().unwrap(), (waits, one["transfers"].as_u64().unwrap()))
    });
    sums.collect()
}

#[test]
fn the_plugin_records_what_ranks_truly_waited() {
    let Some(plugin) = plugin("the_plugin_records_what_ranks_truly_waited") else { return };
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job");
    let plugin = plugin.to_str().unwrap();
    let mut words = vec!["drive", "--ranks", "3", "--iterations", "8", "--buckets", "1MiB,300000"];
    words.extend(["--compute", "5ms", "--late-gpu", "rank=1,delay=30ms", "--profiler", plugin]);
    let record = job.to_str().unwrap();
    words.extend(["--record", record]);
    railscope(&words);
    let mut files: Vec<String> = std::fs::read_dir(job.join("profiles"))
        .unwrap()
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(files.len(), 3);
    let mut words = vec!["analyze", "--format", "json"];
    words.extend(files.iter().map(String::as_str));
    let report: Value = serde_json::from_slice(&railscope(&words)).unwrap();
    let (true_sums, sums) = (truth(&job), recorded(&report));
    assert_eq!(sums.keys().collect::<Vec<_>>(), [&0, &1, &2]);
    for (rank, (waits, transfers)) in &sums {
        let (true_waits, true_transfers) = &true_sums[rank];
        assert_eq!(transfers, true_transfers, "rank {rank}");
        for (place, (ns, true_ns)) in waits.iter().zip(true_waits).enumerate() {
            let limit = (true_ns / 20).max(APART_NS * transfers);
            assert!(ns.abs_diff(*true_ns) <= limit, "rank {rank}, wait {place}: {ns}, {true_ns}");
        }
    }
    let captures = (0..3).map(|rank| job.join(format!("rank{rank}.pcap")));
    let captures: Vec<String> = captures.map(|path| path.to_str().unwrap().to_owned()).collect();
    words.extend(captures.iter().map(String::as_str));
    let together: Value = serde_json::from_slice(&railscope(&words)).unwrap();
    let verdict = &together["verdicts"][0];
    let said =
        ["id", "cause", "grade", "by_profiles"].map(|key| verdict[key].as_str().unwrap_or(""));
    assert_eq!(said, ["late_rank", "compute", "proven", "agree"], "{verdict}");
    assert_eq!(verdict["subject"]["rank"], 1);
    let late = &report["call_records"]["late_by_proxies"];
    assert_eq!((&late[0]["rank"], &late[0]["why"]), (&1.into(), &"gpu".into()), "{late}");
}

/// What profiles alone show of a job that is driven with these words.
fn profiled(plugin: &Path, words: &[&str]) -> Value {
    profiled_with("30", plugin, words)
}

/// The same with this mask of events.
fn profiled_with(mask: &str, plugin: &Path, words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let profiles = folder.path();
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK"] {
        command.env_remove(name);
    }
    command.env("RAILSCOPE_PROFILER_DIR", profiles).env("RAILSCOPE_PROFILER_MASK", mask);
    command.arg("drive").args(words);
    let output = command.arg("--profiler").arg(plugin).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let files = std::fs::read_dir(profiles).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<String> = files.map(|path| path.to_str().unwrap().to_owned()).collect();
    let words = ["analyze", "--format", "json"].into_iter();
    let words: Vec<&str> = words.chain(files.iter().map(String::as_str)).collect();
    serde_json::from_slice(&railscope(&words)).unwrap()
}

/// The communicators with these numbers of ranks, by their hashes.
fn communicators(report: &Value, ranks: u64) -> Vec<String> {
    let judged = report["call_records"]["judged_by_proxies"].as_array().unwrap();
    let of = judged.iter().filter(|one| one["ranks"] == ranks && one["judged"].as_u64() > Some(5));
    of.map(|one| one["communicator"].as_str().unwrap().to_owned()).collect()
}

/// Who is late, by communicator, rank and cause.
fn late(report: &Value) -> Vec<(String, u64, String)> {
    let late = report["call_records"]["late_by_proxies"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let of = |one: &Value| {
        (text(&one["communicator"]), one["rank"].as_u64().unwrap(), text(&one["why"]))
    };
    late.iter().map(of).collect()
}

const TWO_COMMUNICATORS: [&str; 9] = [
    "--ranks",
    "6",
    "--communicators",
    "0-2,2-5",
    "--iterations",
    "10",
    "--buckets",
    "512KiB",
    "--channels=1",
];

#[test]
fn who_waits_in_one_communicator_is_not_late_in_another() {
    let Some(plugin) = plugin("who_waits_in_one_communicator_is_not_late_in_another") else {
        return;
    };
    // Rank 2 waits for rank 1 in the first communicator, and the others for rank 2 in the second one.
    let fault = ["--compute", "30ms", "--straggler", "rank=1,delay=80ms"];
    let report = profiled(&plugin, &[&TWO_COMMUNICATORS[..], &fault].concat());
    let (first, second) = (communicators(&report, 3), communicators(&report, 4));
    assert_eq!((first.len(), second.len()), (1, 1), "{report}");
    assert_eq!(late(&report)[0], (first[0].clone(), 1, "enqueue".to_owned()), "{report}");
    // On a busy machine, rank 2 itself takes long to go on after its wait; the wait is not counted again.
    let ns = |at: usize| report["call_records"]["late_by_proxies"][at]["late_ns"].as_u64();
    assert!(ns(1).is_none_or(|ns1| 3 * ns1 < ns(0).unwrap()), "{report}");
    // The same rank is late by itself: it is named where it is late, as what it is there.
    let fault = ["--compute", "30ms", "--straggler", "rank=2,delay=80ms"];
    let report = profiled(&plugin, &[&TWO_COMMUNICATORS[..], &fault].concat());
    let named: BTreeMap<String, (u64, String)> =
        late(&report).into_iter().map(|(of, rank, why)| (of, (rank, why))).collect();
    let [first, second] = [3, 4].map(|ranks| communicators(&report, ranks).remove(0));
    assert_eq!(named[&first], (2, "enqueue".to_owned()), "{report}");
    assert!(named.get(&second).is_none_or(|(rank, _)| *rank == 0), "{report}");
}

#[test]
fn who_is_late_in_one_communicator_is_the_only_one_named() {
    let Some(plugin) = plugin("who_is_late_in_one_communicator_is_the_only_one_named") else {
        return;
    };
    let words = ["--ranks", "4", "--communicators", "0-3,0-3", "--iterations", "10"];
    let words =
        [&words[..], &["--buckets", "512KiB", "--compute", "30ms", "--channels=1"]].concat();
    let fault = ["--straggler", "rank=1,delay=80ms"];
    let report = profiled(&plugin, &[&words[..], &fault].concat());
    let late = late(&report);
    assert_eq!(communicators(&report, 4).len(), 2, "{report}");
    // On a busy machine it may come late to the second one as well, for a reason that is not known.
    assert!(late.iter().all(|(_, rank, _)| *rank == 1), "{late:?}");
    assert_eq!(late.iter().filter(|(_, _, why)| why == "enqueue").count(), 1, "{late:?}");
    assert_eq!(late_verdicts(&report), late.len(), "{report}");
}

#[test]
fn a_rank_that_calls_late_is_told_apart_from_those_of_its_node() {
    let test = "a_rank_that_calls_late_is_told_apart_from_those_of_its_node";
    let Some(plugin) = plugin(test) else { return };
    let job = ["--ranks", "6", "--ranks-per-node", "3", "--iterations", "10", "--channels=1"];
    let job = [&job[..], &["--buckets", "512KiB", "--compute", "30ms"]].concat();
    // Rank 1 has no proxy: its neighbours on the ring are on its node. Rank 5 sends to the other node.
    for rank in ["1", "5"] {
        let fault = format!("rank={rank},delay=80ms");
        let report = profiled(&plugin, &[&job[..], &["--straggler", &fault]].concat());
        let late = &report["call_records"]["late_by_proxies"];
        assert_eq!(late.as_array().unwrap().len(), 1, "{report}");
        assert_eq!(late[0]["rank"].as_u64().unwrap().to_string(), rank, "{report}");
        assert_eq!((&late[0]["why"], &late[0]["by_clock"]), (&"enqueue".into(), &true.into()));
        let of = &report["call_records"]["judged_by_proxies"][0];
        assert_eq!((&of["shares_nodes"], &of["judged"]), (&true.into(), &11.into()), "{of}");
        let verdict = &report["verdicts"][0];
        assert_eq!((&verdict["id"], &verdict["grade"]), (&"late_rank".into(), &"inferred".into()));
    }
    // Calls do not show a late GPU: nobody is named in its place.
    let fault = ["--late-gpu", "rank=1,delay=80ms"];
    let report = profiled(&plugin, &[&job[..], &fault].concat());
    assert_eq!(late(&report), [], "{report}");
    assert_eq!(late_verdicts(&report), 0, "{report}");
}

#[test]
fn times_of_kernels_show_a_late_gpu_among_those_of_its_node() {
    let test = "times_of_kernels_show_a_late_gpu_among_those_of_its_node";
    let Some(plugin) = plugin(test) else { return };
    let words = ["--buckets", "512KiB", "--compute", "30ms", "--iterations", "10", "--channels=2"];
    let fault = ["--late-gpu", "rank=1,delay=80ms"];
    // On two nodes, and on one, where no rank has a proxy.
    for job in [["--ranks=6", "--ranks-per-node=3"], ["--ranks=4", "--ranks-per-node=4"]] {
        let job = [&job[..], &words, &fault].concat();
        let report = profiled_with("70", &plugin, &job);
        let late = &report["call_records"]["late_by_proxies"];
        assert_eq!(late.as_array().unwrap().len(), 1, "{report}");
        assert_eq!((&late[0]["rank"], &late[0]["why"]), (&1.into(), &"gpu".into()), "{late}");
        assert_eq!(late[0]["by_kernels"], true, "{late}");
        let verdict = &report["verdicts"][0];
        assert_eq!((&verdict["id"], &verdict["grade"]), (&"late_rank".into(), &"inferred".into()));
        for process in report["call_records"]["proxies"].as_array().unwrap() {
            assert_eq!(process["kernels"]["collectives"], process["collectives"], "{process}");
        }
    }
    let clean = [&["--ranks=4", "--ranks-per-node=4"], &words[..]].concat();
    // Who gets lost data last leaves late, and comes to the next collective as late.
    let loss = ["--ranks=3", "--collective=all_gather", "--loss", "edge=1-2,share=2%"];
    let loss = [&loss[..], &["--buckets=4MiB", "--compute=30ms", "--iterations=8"]].concat();
    for job in [clean, loss] {
        let report = profiled_with("70", &plugin, &job);
        assert_eq!(late(&report), [], "{report}");
        let judged = &report["call_records"]["judged_by_proxies"][0]["judged_by_kernels"];
        assert!(judged.as_u64() > Some(5), "{judged}");
    }
}

fn late_verdicts(report: &Value) -> usize {
    report["verdicts"].as_array().unwrap().iter().filter(|one| one["id"] == "late_rank").count()
}

#[test]
fn what_is_no_plugin_is_refused() {
    for (path, why) in [("/nowhere.so", "No such file"), ("/etc/passwd", "/etc/passwd")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
        command.args(["drive", "--ranks", "2", "-b", "1M", "-e", "1M", "--profiler", path]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--profiler") && said.contains(why), "{said}");
    }
}
