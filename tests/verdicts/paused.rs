//! Pause in virtual time: what it kept from being sent is pause, and not a late rank, in time and
//! direction, by frames or by counters.

use std::path::Path;

use serde_json::Value;

use super::job::simulate;
use crate::cli::railscope;

/// The NIC of host2 pauses its switch for 150 ms. Its switch pauses others in turn, up to the NIC of
/// host1, which has data for host2.
const JOB: &str = r#"
title = "pause"
seed = 5

[fabric]
hosts = 4
hosts_per_leaf = 2
spines = 1

[fabric.pfc]
xoff = "60KB"
xon = "40KB"

[[job]]
iterations = 10
compute = "6ms"
jitter = "100us"
buckets = ["2MiB"]

[[pause_storm]]
nic = "host2"
from = "100ms"
until = "250ms"
"#;

fn report(folder: &Path, sees_frames: bool) -> Value {
    let job = simulate(folder, &format!("{JOB}\n[capture]\npause_frames = {sees_frames}\n"));
    let captures: Vec<String> =
        (0..4).map(|host| format!("{}/host{host}.pcapng", job.display())).collect();
    let counters = format!("{}/counters.jsonl", job.display());
    let details = format!("{}/details.jsonl", job.display());
    let mut arguments = vec!["analyze", "--format", "json", "--detail", "full"];
    arguments.extend(["--detail-file", details.as_str()]);
    arguments.extend(captures.iter().map(String::as_str));
    if !sees_frames {
        arguments.extend(["--counters", counters.as_str()]);
    }
    serde_json::from_str(&railscope(arguments).warns()).unwrap()
}

/// The collective that took longest.
fn longest(report: &Value) -> &Value {
    let length = |one: &&Value| one["end_ns"].as_i64().unwrap() - one["start_ns"].as_i64().unwrap();
    report["collectives"].as_array().unwrap().iter().max_by_key(length).unwrap()
}

fn paused_ns(collective: &Value, rank: usize) -> u64 {
    collective["ranks"][rank]["paused_ns"].as_u64().unwrap_or(0)
}

fn parts_sum_to_the_span(report: &Value) {
    let parts =
        ["start_wait", "sender_wait", "receiver_wait", "input_wait", "transfer", "recovery"];
    let collectives = report["collectives"].as_array().unwrap().iter();
    for edge in collectives.flat_map(|one| one["connections"].as_array().unwrap()) {
        let waits = &edge["waits"];
        let part = |key: String| waits[key.as_str()].as_u64().unwrap_or(0);
        let sum: u64 = parts.iter().map(|name| part(format!("{name}_ns"))).sum();
        let [start, end] = ["start_ns", "end_ns"].map(|time| waits[time].as_i64().unwrap());
        assert_eq!((sum + part("paused_ns".to_owned())) as i64, end - start, "{edge}");
    }
}

fn is_held_up_by_pause(sees_frames: bool) {
    let folder = tempfile::tempdir().unwrap();
    let report = report(folder.path(), sees_frames);
    parts_sum_to_the_span(&report);
    let collective = longest(&report);
    let late = &collective["straggler"];
    assert_eq!((&late["cause"], &late["rank"]), (&"pause".into(), &1.into()), "{collective:#}");
    assert!(late["lag_ns"].as_u64().unwrap() > 100_000_000, "{late}");
    assert!(paused_ns(collective, 1) > 100_000_000, "{collective:#}");
    // Nobody paused the NIC of host2, which pauses others.
    assert_eq!(paused_ns(collective, 2), 0, "{collective:#}");
    let iteration = &report["iterations"][collective["iteration"].as_u64().unwrap() as usize];
    assert!(iteration["paused_ns"].as_u64().unwrap() > 100_000_000, "{iteration}");
    assert_eq!(iteration["contributions"][0]["cause"], "pause", "{iteration}");
    let first = &report["verdicts"][0];
    assert_eq!((&first["id"], &first["subject"]["port"]), (&"pause".into(), &"10.0.0.3".into()));
}

#[test]
fn pause_frames_hold_up_the_rank_that_has_data_to_send() {
    is_held_up_by_pause(true);
}

#[test]
fn counters_of_the_paused_nic_show_it_too() {
    is_held_up_by_pause(false);
}

/// Its switch holds back all that it would send there; of the ports behind another switch, only one tries in time
/// to look like the end of a dead path.
#[test]
fn a_port_that_pauses_without_end_is_no_dead_path() {
    let mut scenario =
        "title = \"pause\"\n\n[fabric]\nhosts = 6\nhosts_per_leaf = 3\n\n[capture]\n\
                        pause_frames = false\nuntil = \"2600ms\"\n\n[[job]]\niterations = 400\n\
                        compute = \"8ms\"\nbuckets = [\"512KiB\", \"256KiB\"]\nib_timeout = 18\n\n\
                        [[pause_storm]]\nnic = \"host1\"\nfrom = \"133ms\"\nuntil = \"1h\"\n\n"
            .to_owned();
    for (host, next) in (0..6).map(|host| (host, (host + 1) % 6)) {
        scenario += &format!(
            "[[background]]\nsender = \"host{host}\"\nreceiver = \"host{next}\"\nrate = \"1M\"\n\n"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let job = simulate(folder.path(), &scenario);
    let file = |name: &str| job.join(name).to_str().unwrap().to_owned();
    let mut arguments = ["analyze", "--format", "json", "--counters"].map(str::to_owned).to_vec();
    arguments.push(file("counters.jsonl"));
    arguments.extend((0..6).map(|host| file(&format!("host{host}.pcapng"))));
    let report: Value = serde_json::from_str(&railscope(arguments).succeeds()).unwrap();
    let first = &report["verdicts"][0];
    assert_eq!((&first["id"], &first["subject"]["port"]), (&"pause".into(), &"10.0.0.2".into()));
    assert!(report["verdicts"].as_array().unwrap().iter().all(|one| one["id"] != "path_dead"));
}
