//! Simulated jobs that stop for ever: what packets leave, and what dumps add.

use std::path::Path;

use serde_json::Value;

use crate::cli::railscope;

/// Simulates four ranks of which rank 2 stops, with `fault` in the scenario.
pub fn simulate(folder: &Path, fault: &str) {
    simulate_with(folder, 16, fault);
}

/// The same with this `NCCL_IB_TIMEOUT`.
fn simulate_with(folder: &Path, ib_timeout: u8, fault: &str) {
    simulate_as(folder, &format!("ib_timeout = {ib_timeout}\n"), fault);
}

/// The same with these lines about the job.
fn simulate_as(folder: &Path, job: &str, fault: &str) {
    let mut scenario = "title = \"hang\"\n\n[fabric]\nhosts = 4\nhosts_per_leaf = 4\n\n[capture]\n\
                        pause_frames = false\nuntil = \"1700ms\"\nflight_recorder = true\nras = true\n\n[[job]]\n\
                        iterations = 400\ncompute = \"8ms\"\nbuckets = [\"256KiB\"]\n"
        .to_owned();
    scenario += job;
    scenario += "\n";
    for host in 0..4 {
        let next = (host + 1) % 4;
        scenario += &format!(
            "[[background]]\nsender = \"host{host}\"\nreceiver = \"host{next}\"\nrate = \"1M\"\n\n"
        );
    }
    let path = folder.join("hang.toml");
    std::fs::write(&path, scenario + fault).unwrap();
    let job = folder.join("job");
    railscope(["simulate", path.to_str().unwrap(), "--out", job.to_str().unwrap()]).succeeds();
}

/// The first hang by the packets of all hosts, and by the dumps as well if they are `read`.
fn explained(folder: &Path, read: bool) -> Value {
    let file = |name: &str| folder.join("job").join(name).to_str().unwrap().to_owned();
    let mut arguments: Vec<String> =
        ["explain", "--hang", "--format", "json"].map(str::to_owned).to_vec();
    arguments.extend((0..4).map(|host| file(&format!("host{host}.pcapng"))));
    if read {
        arguments.extend(["--flight-recorder".to_owned(), file("flight_recorder/trace_*")]);
    }
    let report: Value = serde_json::from_str(&railscope(arguments).succeeds()).unwrap();
    assert_eq!(report["state"], "hang", "{report}");
    report["hangs"][0].clone()
}

/// All that is said to hang, by the packets of all hosts and these records.
fn explained_with(folder: &Path, records: &[&str]) -> Value {
    let captures = (0..4).map(|host| folder.join(format!("job/host{host}.pcapng")));
    let captures: Vec<String> = captures.map(|path| path.to_str().unwrap().to_owned()).collect();
    let options = ["explain", "--hang", "--format", "json"].iter().chain(records).copied();
    let all = options.chain(captures.iter().map(String::as_str));
    serde_json::from_str(&railscope(all).succeeds()).unwrap()
}

/// Class and alternative.
fn classes(hang: &Value) -> (&str, Option<&str>) {
    (hang["class"].as_str().unwrap(), hang["alternative"].as_str())
}

#[test]
fn dumps_narrow_what_packets_leave() {
    let halt = |what| format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n");
    let down = "[[flap]]\nport = \"host2\"\nfrom = \"120ms\"\nuntil = \"1h\"\n";
    for (fault, by_packets, with_dumps) in [
        (halt("killed"), ("process_gone", Some("host_dead")), ("process_gone", Some("host_dead"))),
        (halt("gpu"), ("gpu_stuck", Some("process_stopped")), ("gpu_stuck", None)),
        (halt("calls"), ("rank_not_called", Some("process_stopped")), ("rank_not_called", None)),
        (
            halt("stopped") + down,
            ("port_down", Some("host_dead")),
            ("host_dead", Some("port_down")),
        ),
        (down.to_owned(), ("port_down", Some("host_dead")), ("port_down", None)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        simulate(folder.path(), &fault);
        let hang = explained(folder.path(), false);
        assert_eq!(classes(&hang), by_packets, "{fault}");
        assert_eq!(hang["subject"]["rank"], 2, "{fault}");
        assert_eq!(classes(&explained(folder.path(), true)), with_dumps, "{fault}");
    }
}

/// With the timers of NCCL 2.23 and later, none expires in the capture: packets that wait for their first ACK show it.
#[test]
fn timers_of_seconds_need_not_expire() {
    let halt = |what| format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n");
    let down = "[[flap]]\nport = \"host2\"\nfrom = \"120ms\"\nuntil = \"1h\"\n";
    for (fault, expected) in [
        (halt("killed"), ("process_gone", Some("host_dead"))),
        (down.to_owned(), ("port_down", Some("host_dead"))),
        (halt("queue_pair"), ("queue_pair_error", Some("process_gone"))),
        (halt("gpu"), ("gpu_stuck", Some("process_stopped"))),
    ] {
        let folder = tempfile::tempdir().unwrap();
        simulate_with(folder.path(), 20, &fault);
        let hang = explained(folder.path(), false);
        assert_eq!(classes(&hang), expected, "{hang}");
        assert_eq!(hang["subject"]["rank"], 2, "{hang}");
        assert_eq!(hang["grade"], "inferred", "{hang}");
    }
}

/// Two expired timers of one flow may be loss; on one of a collective that stands still, without an answer until the
/// end, they are an outage.
#[test]
fn two_expired_timers_are_enough_where_a_collective_stands_still() {
    for ib_timeout in [17, 18] {
        let folder = tempfile::tempdir().unwrap();
        let fault = "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"queue_pair\"\n";
        simulate_with(folder.path(), ib_timeout, fault);
        let hang = explained(folder.path(), false);
        assert_eq!(classes(&hang).0, "queue_pair_error", "{hang}");
        assert_eq!(hang["subject"]["rank"], 2, "{hang}");
    }
}

/// Its other rank uses the same port and lives: the queue pairs that are silent tell which is gone.
#[test]
fn of_two_ranks_at_a_port_the_silent_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let job = "ib_timeout = 16\ngpus_per_host = 2\n";
    simulate_as(folder.path(), job, "[[halt]]\nrank = 4\nfrom = \"120ms\"\nwhat = \"killed\"\n");
    for read in [false, true] {
        let hang = explained(folder.path(), read);
        assert_eq!(hang["class"], "process_gone", "{hang}");
        assert_eq!(hang["subject"]["rank"], 4, "{hang}");
        // The process of another GPU of the host sends, and wrote a dump.
        assert_ne!(hang["alternative"], "host_dead", "{hang}");
    }
}

#[test]
fn a_stopped_process_still_acknowledges() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"stopped\"\n");
    let hang = explained(folder.path(), false);
    assert_eq!(hang["alternative"], "process_stopped");
    assert_eq!(explained(folder.path(), true)["class"], "process_stopped");
}

/// The port at its end has just sent all that it could, and waits.
#[test]
fn a_path_that_dies_is_no_dead_port() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "[[loss]]\nport = \"host2\"\nshare = \"100%\"\nfrom = \"120ms\"\nto = \"host3\"\n";
    simulate(folder.path(), fault);
    let hang = explained(folder.path(), false);
    assert_eq!(classes(&hang), ("path_dead", Some("port_down")), "{hang}");
    assert_eq!(hang["subject"]["port"], "10.0.0.4", "{hang}");
    assert_eq!(hang["subject"]["peer_port"], "10.0.0.3", "{hang}");
}

/// Receivers that post late are refused a message now and then while the job runs.
#[test]
fn refusals_count_from_the_last_data_on() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"receives\"\n");
    let hang = explained(folder.path(), false);
    assert_eq!(hang["class"], "receiver_not_ready", "{hang}");
    assert!(hang["since_ns"].as_i64().unwrap() > 100_000_000, "{hang}");
}

/// Its peers do not answer it; whether they hear it is not known.
#[test]
fn the_capture_of_a_port_that_nobody_answers_tells_no_direction() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[loss]]\nport = \"host2\"\nshare = \"100%\"\nfrom = \"120ms\"\n");
    let capture = folder.path().join("job/host2.pcapng");
    let said = railscope(["explain", "--hang", "--format", "json", capture.to_str().unwrap()]);
    let said: Value = serde_json::from_str(&said.succeeds()).unwrap();
    let hang = &said["hangs"][0];
    assert_eq!(hang["class"], "port_down", "{hang}");
    assert_eq!(hang["subject"]["port"], "10.0.0.3", "{hang}");
    assert_eq!(hang["subject"]["direction"], Value::Null, "{hang}");
}

#[test]
fn a_job_that_hangs_needs_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("endless.toml");
    let scenario = "title = \"x\"\n[[job]]\n[[halt]]\nrank = 0\nfrom = \"1ms\"\nwhat = \"gpu\"\n";
    std::fs::write(&path, scenario).unwrap();
    let said = railscope(["simulate", path.to_str().unwrap()]).fails();
    assert!(said.contains("say when the simulation ends"), "{said}");
}

#[test]
fn a_dump_that_was_not_collected_is_no_second_answer() {
    let halt = |what| format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n");
    for (fault, lacking, class) in [
        (halt("gpu"), 1, "gpu_stuck"),
        (halt("calls"), 0, "rank_not_called"),
        (halt("killed"), 3, "process_gone"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        simulate(folder.path(), &fault);
        let dumps = folder.path().join("job/flight_recorder");
        std::fs::remove_file(dumps.join(format!("trace_{lacking}"))).unwrap();
        let pattern = dumps.join("trace_*");
        let records = ["--flight-recorder", pattern.to_str().unwrap()];
        let said = explained_with(folder.path(), &records);
        let hangs = said["hangs"].as_array().unwrap();
        assert_eq!(hangs.len(), 1, "{fault} without {lacking}: {said}");
        let hang = &hangs[0];
        let named = [&hang["class"], &hang["alternative"]];
        assert!(named.contains(&&Value::from(class)), "{fault}: {hang}");
        let against = hang["contradictions"].to_string();
        // A rank that never called is known from its own dump.
        if class != "rank_not_called" {
            assert!(against.contains("no flight recorder dump of rank"), "{fault}: {against}");
        }
    }
}

#[test]
fn records_of_another_time_or_job_are_shown_and_not_used() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"gpu\"\n");
    let alone = explained_with(folder.path(), &[]);
    let dump = |name: &str| folder.path().join("job/flight_recorder").join(name);
    let more = folder.path().join("more");
    std::fs::create_dir(&more).unwrap();
    // Of eight ranks, not four.
    for rank in 0..4 {
        let own = std::fs::read_to_string(dump(&format!("trace_{rank}"))).unwrap();
        let other = own.replace("[0, 1, 2, 3]", "[0, 1, 2, 3, 4, 5, 6, 7]");
        std::fs::write(more.join(format!("trace_{rank}")), other).unwrap();
    }
    let more = more.join("trace_*");
    let more = more.to_str().unwrap();
    let status = |name: &str, from: &str, to: &str| {
        let path = folder.path().join(name);
        let own = std::fs::read_to_string(folder.path().join("job/ras_1.json")).unwrap();
        assert!(own.contains(from), "{own}");
        std::fs::write(&path, own.replace(from, to)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let own = std::fs::read_to_string(folder.path().join("job/ras_1.json")).unwrap();
    let own: Value = serde_json::from_str(&own).unwrap();
    let hash = own["communicators"][0]["hash"].as_str().unwrap();
    for (records, why) in [
        (["--flight-recorder", "flight_recorder/killed/trace_*"], "of another time: "),
        (["--flight-recorder", more], "of another job: its groups have 8 ranks"),
        (["--ras", &status("day.json", "2026-01-01", "2026-01-04")], "of another time: "),
        (["--ras", &status("hash.json", hash, "0x1234")], "of another job: none of its comm"),
    ] {
        let said = explained_with(folder.path(), &records);
        let unused = said["unused_records"].as_array().unwrap();
        assert!(!unused.is_empty(), "{records:?}");
        for one in unused {
            assert_eq!(one["is_misfit"], true, "{one}");
            assert!(one["why"].as_str().unwrap().starts_with(why), "{one}");
        }
        assert_eq!(said["hangs"], alone["hangs"], "{records:?}");
    }
}

/// The dumps are of later than the captures, or of another run.
#[test]
fn captures_in_which_all_moves_contradict_records() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"calls\"\n");
    let dumps = folder.path().join("job/flight_recorder/trace_*");
    let dumps = ["--flight-recorder", dumps.to_str().unwrap()];
    let hang = |options: &[&str]| explained_with(folder.path(), options)["hangs"][0].clone();
    let whole = hang(&dumps);
    assert_eq!(classes(&whole), ("rank_not_called", None));
    assert_eq!(whole["contradictions"], serde_json::json!([]));
    let moving = hang(&[&dumps[..], &["--until", "100ms"]].concat());
    assert_eq!(classes(&moving), ("rank_not_called", None));
    assert_eq!(moving["grade"], "inferred");
    let against = moving["contradictions"][0].as_str().unwrap();
    assert!(against.contains("all communicators move data until the end"), "{against}");
}

#[test]
fn answers_of_ras_narrow_what_packets_leave() {
    let halt = |what| format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n");
    for (what, expected) in [
        ("gpu", ("gpu_stuck", None)),
        ("calls", ("rank_not_called", None)),
        ("stopped", ("process_stopped", Some("gpu_stuck"))),
        ("killed", ("process_gone", Some("host_dead"))),
    ] {
        let folder = tempfile::tempdir().unwrap();
        simulate(folder.path(), &halt(what));
        let answer = |at: u32| folder.path().join(format!("job/ras_{at}.json"));
        let (one, other) = (answer(0), answer(1));
        let records = ["--ras", one.to_str().unwrap(), "--ras", other.to_str().unwrap()];
        let said = explained_with(folder.path(), &records);
        let hangs = said["hangs"].as_array().unwrap();
        assert_eq!(hangs.len(), 1, "{what}: {said}");
        assert_eq!(classes(&hangs[0]), expected, "{what}");
        assert_eq!(hangs[0]["subject"]["rank"], 2, "{what}");
    }
}

#[test]
fn ras_shows_ranks_that_call_another_function() {
    for (what, class) in [("other_call", "ranks_disagree"), ("other_size", "gpu_stuck")] {
        let folder = tempfile::tempdir().unwrap();
        let fault = format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n");
        simulate(folder.path(), &fault);
        let answer = |at: u32| folder.path().join(format!("job/ras_{at}.json"));
        let (one, other) = (answer(0), answer(1));
        let records = ["--ras", one.to_str().unwrap(), "--ras", other.to_str().unwrap()];
        let said = explained_with(folder.path(), &records);
        // Of another size, one rank has left a collective that three wait in: they have not failed to call.
        assert_eq!(said["hangs"].as_array().unwrap().len(), 1, "{said}");
        assert_eq!(said["hangs"][0]["class"], class);
        assert_eq!(said["hangs"][0]["subject"]["rank"], 2, "{what}");
    }
}

#[test]
fn dumps_show_that_ranks_disagree() {
    for what in ["other_call", "other_size"] {
        let folder = tempfile::tempdir().unwrap();
        let fault = format!("[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"{what}\"\n");
        simulate(folder.path(), &fault);
        let hang = explained(folder.path(), true);
        assert_eq!(classes(&hang), ("ranks_disagree", None), "{what}");
        assert_eq!(hang["subject"]["rank"], 2, "{what}");
    }
}
