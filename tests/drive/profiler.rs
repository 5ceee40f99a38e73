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
