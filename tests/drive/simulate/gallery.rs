//! Whole simulations: the scenarios that ship, their output, and railscope's report on it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use railscope_drive::simulate::run::{Summary, run};
use railscope_drive::simulate::scenario::Scenario;
use railscope_drive::simulate::scenario::gallery::{self, GALLERY};
use serde_json::Value;

use crate::cli::railscope;
use crate::support::{railscope as report, require, tshark};

/// Enough for connection setup, warm-up and some training steps.
const SHORT: u32 = 4;

fn scenario(name: &str) -> Scenario {
    Scenario::parse(gallery::exhibit(name).unwrap().toml).unwrap()
}

fn short(name: &str) -> Scenario {
    let mut scenario = scenario(name);
    for job in &mut scenario.job {
        job.iterations = job.iterations.min(SHORT);
    }
    scenario
}

fn simulate(scenario: &Scenario, folder: &Path) -> Summary {
    let summary = run(scenario, folder, &mut |_| {}).unwrap();
    assert_eq!(summary.failures, [""; 0], "{}", scenario.title);
    summary
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn records<'a>(truth: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    truth.iter().filter(move |record| record["record"] == kind)
}

#[test]
fn each_scenario_is_linked_from_its_frames_alone() {
    for exhibit in GALLERY {
        let name = exhibit.name;
        let folder = tempfile::tempdir().unwrap();
        let scenario = short(name);
        simulate(&scenario, folder.path());
        let report = report::analyze(&files(folder.path(), "pcapng"));
        let communicators = report["communicators"].as_array().unwrap();
        let truths = files(folder.path(), "jsonl");
        let truths = truths.iter().filter(|path| !path.ends_with("counters.jsonl"));
        let truths: Vec<_> = truths.map(|path| lines(path)).collect();
        assert_eq!((communicators.len(), truths.len()), (scenario.job.len(), scenario.job.len()));
        for truth in &truths {
            let job = records(truth, "job").next().unwrap();
            let id = job["comm_hash"].as_str().unwrap().trim_start_matches("0x");
            let found = communicators.iter().find(|found| found["id"] == id);
            let found = found.unwrap_or_else(|| panic!("{name}: no communicator {id}"));
            assert_eq!(found["nranks"], job["ranks"], "{name}");
            let ranks = found["ranks"].as_array().unwrap();
            for rank in records(truth, "rank") {
                let of = |found: &&Value| found["rank"] == rank["rank"];
                let found = ranks.iter().find(of).unwrap();
                assert_eq!([&found["address"], &found["pid"]], [&rank["address"], &rank["pid"]]);
            }
            let collectives = report["collectives"].as_array().unwrap();
            let found = collectives.iter().filter(|found| found["communicator"] == id);
            let found: Vec<_> = found.map(|found| (&found["kind"], &found["bytes"])).collect();
            let kind = Value::from("all_reduce");
            let truly: Vec<_> =
                records(truth, "collective").map(|truly| (&kind, &truly["bytes"])).collect();
            assert_eq!(found, truly, "{name}");
        }
        let flows = report["flows"].as_array().unwrap().iter();
        let unowned = flows.filter(|flow| flow["transport"] == "RC" && flow["owner"].is_null());
        assert_eq!(unowned.count(), 0, "{name}");
    }
}

/// The large scenario reduced to fit the suite: its leaves, rails and rings, but fewer hosts.
#[test]
fn a_job_of_many_gpus_is_linked_where_few_hosts_are_captured() {
    let mut scenario = scenario("thousand_gpus");
    (scenario.fabric.hosts, scenario.fabric.hosts_per_leaf, scenario.fabric.spines) = (6, 2, 2);
    scenario.capture.taps = vec!["host0".to_owned(), "host4".to_owned()];
    let folder = tempfile::tempdir().unwrap();
    simulate(&scenario, folder.path());
    let report = report::analyze(&files(folder.path(), "pcapng"));
    let truth = lines(&folder.path().join("truth.jsonl"));
    let hosts: BTreeMap<u64, &str> = records(&truth, "rank")
        .map(|rank| (rank["rank"].as_u64().unwrap(), rank["host"].as_str().unwrap()))
        .collect();
    assert_eq!(hosts.len(), 48);
    let communicator = &report["communicators"][0];
    assert_eq!(communicator["nranks"], 48);
    let collectives = report["collectives"].as_array().unwrap().iter();
    let found: Vec<_> = collectives.map(|found| (&found["kind"], &found["bytes"])).collect();
    let kind = Value::from("all_reduce");
    let truly: Vec<_> =
        records(&truth, "collective").map(|truly| (&kind, &truly["bytes"])).collect();
    assert_eq!(found, truly);

    // The truth lists the chunks of connections that a tap sees, at both ends.
    let ends: BTreeSet<&str> =
        records(&truth, "ring_step").map(|chunk| hosts[&chunk["rank"].as_u64().unwrap()]).collect();
    assert_eq!(ends, BTreeSet::from(["host0", "host1", "host3", "host4", "host5"]));
    let computed = records(&truth, "compute").count();
    assert_eq!(computed, 48 * 2);
}

#[test]
fn the_same_seed_makes_the_same_files() {
    let scenario = short("hot_uplink");
    let bytes = |scenario: &Scenario| {
        let folder = tempfile::tempdir().unwrap();
        simulate(scenario, folder.path());
        let all = ["pcapng", "jsonl"].into_iter().flat_map(|kind| files(folder.path(), kind));
        all.map(|path| fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    let first = bytes(&scenario);
    assert!(first == bytes(&scenario), "two runs differ");
    assert!(first != bytes(&Scenario { seed: 2, ..scenario }), "another seed gives the same files");
}

#[test]
fn tshark_finds_no_malformed_frame_and_no_wrong_checksum() {
    if !require::has("tshark_finds_no_malformed_frame_and_no_wrong_checksum", "tshark") {
        return;
    }
    for (name, snaplen) in [("pfc_storm", 128), ("two_jobs", 9000), ("hot_uplink", 128)] {
        let folder = tempfile::tempdir().unwrap();
        let mut scenario = short(name);
        scenario.capture.snaplen = snaplen;
        simulate(&scenario, folder.path());
        let capture = folder.path().join("host0.pcapng");
        let fields = tshark::fields(
            &capture,
            &["_ws.malformed", "ip.checksum.status", "tcp.analysis.flags", "infiniband.bth.opcode"],
        );
        let roce = fields.iter().filter(|row| !row[3].is_empty()).count();
        assert!(roce > 1000, "{name}: {roce} RoCE frames");
        for (number, row) in (1..).zip(&fields) {
            let is_good = row[0].is_empty() && row[1] != "0" && row[2].is_empty();
            assert!(is_good, "{name}: frame {number}: {row:?}");
        }
    }
}

#[test]
fn counters_agree_with_the_frames_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    simulate(&short("clean"), folder.path());
    let samples = lines(&folder.path().join("counters.jsonl"));
    let mut last: BTreeMap<String, &Value> = BTreeMap::new();
    for sample in &samples {
        let host = sample["host"].as_str().unwrap().to_owned();
        if let Some(before) = last.insert(host, sample) {
            for (name, value) in before["counters"].as_object().unwrap() {
                assert!(value.as_u64() <= sample["counters"][name].as_u64(), "{name} falls");
            }
        }
    }
    let report = report::analyze(&[folder.path().join("host2.pcapng")]);
    let counters = &last["host2"]["counters"];
    let count = |way| counters[format!("{way}_vport_rdma_unicast_packets")].as_u64().unwrap();
    assert_eq!(report["capture"]["roce_frames"], count("rx") + count("tx"));
}

#[test]
fn whole_frames_have_good_icrcs() {
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = short("incast_ecn");
    scenario.capture.snaplen = 9000;
    simulate(&scenario, folder.path());
    let report = report::analyze(&[folder.path().join("host0.pcapng")]);
    let flows = report["flows"].as_array().unwrap();
    let sum = |what: &str| flows.iter().map(|flow| flow["icrc"][what].as_u64().unwrap()).sum();
    let (checked, bad): (u64, u64) = (sum("checked"), sum("bad"));
    assert!(checked > 1000, "{checked} checked");
    assert_eq!(bad, 0);
}

#[test]
fn a_late_rank_is_late_in_the_truth() {
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = short("straggler_compute");
    scenario.straggler[0].iterations = Some([1, 2]);
    simulate(&scenario, folder.path());
    let truth = lines(&folder.path().join("truth.jsonl"));
    let lasted = |rank: u64, iteration: u64| {
        let mut computed = records(&truth, "compute");
        let of = |record: &&Value| record["rank"] == rank && record["iteration"] == iteration;
        let computed = computed.find(of).unwrap();
        computed["end_ns"].as_u64().unwrap() - computed["start_ns"].as_u64().unwrap()
    };
    for (rank, iteration, least, most) in
        [(2, 0, 7_800_000, 8_200_000), (2, 1, 12_800_000, 13_200_000), (1, 1, 7_800_000, 8_200_000)]
    {
        assert!((least..=most).contains(&lasted(rank, iteration)), "{rank} in {iteration}");
    }
    let fault = records(&truth, "fault").next().unwrap();
    assert_eq!([&fault["kind"], &fault["cause"]], ["straggler", "compute"]);
    assert_eq!(records(&truth, "iteration").count() as u32, SHORT);
}

#[test]
fn the_command_teaches() {
    let list = railscope(["simulate", "--list"]).succeeds();
    for exhibit in gallery::all() {
        assert!(list.contains(exhibit.name));
        let shown = railscope(["simulate", "--show", exhibit.name]).succeeds();
        assert_eq!(shown, exhibit.toml);
        assert!(shown.starts_with("# "), "{} has no description", exhibit.name);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    fs::write(&file, "title = \"mine\"\n[[job]]\niterations = 2\n").unwrap();
    let out = folder.path().join("out");
    let arguments = ["simulate".as_ref(), file.as_os_str(), "--out".as_ref(), out.as_os_str()];
    let said = railscope(arguments).succeeds();
    assert!(said.starts_with("mine\n") && said.contains("railscope analyze"), "{said}");
    let again = railscope(arguments);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("already holds a job"), "{}", again.stderr);
    fs::write(&file, "title = \"mine\"\n[[job]]\nrounds = 2\n").unwrap();
    let wrong = railscope(["simulate".as_ref(), file.as_os_str()]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("line 3") && wrong.stderr.contains("rounds"), "{}", wrong.stderr);
    let unknown = railscope(["simulate", "no_such_trouble"]);
    assert!(unknown.stderr.contains("--list"), "{}", unknown.stderr);
}
