//! Simulated jobs that stop for ever: what packets leave, and what dumps add.

use std::path::Path;

use serde_json::Value;

use crate::cli::railscope;

/// Simulates four ranks of which rank 2 stops, with `fault` in the scenario.
fn simulate(folder: &Path, fault: &str) {
    let mut scenario = "title = \"hang\"\n\n[fabric]\nhosts = 4\nhosts_per_leaf = 4\n\n[capture]\n\
                        pause_frames = false\nuntil = \"1700ms\"\nflight_recorder = true\n\n[[job]]\n\
                        iterations = 400\nib_timeout = 16\ncompute = \"8ms\"\nbuckets = [\"256KiB\"]\n\n"
        .to_owned();
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

#[test]
fn a_stopped_process_still_acknowledges() {
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"stopped\"\n");
    let hang = explained(folder.path(), false);
    assert_eq!(hang["alternative"], "process_stopped");
    assert_eq!(explained(folder.path(), true)["class"], "process_stopped");
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
