//! Simulated outages: which port, or which path, where jobs share ports and captures are in pieces.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::simulated::simulate;
use crate::cli::railscope;
use crate::support::require;

/// The captures of a scenario of `hosts` hosts.
fn captures(folder: &Path, hosts: u32, scenario: &str) -> Vec<PathBuf> {
    let path = folder.join("place.toml");
    let fabric =
        format!("title = \"place\"\n[fabric]\nhosts = {hosts}\nhosts_per_leaf = {hosts}\n\n");
    std::fs::write(&path, fabric + scenario).unwrap();
    let job = folder.join("job");
    railscope(["simulate", path.to_str().unwrap(), "--out", job.to_str().unwrap()]).succeeds();
    (0..hosts).map(|host| job.join(format!("host{host}.pcapng"))).collect()
}

/// What is said to hang.
fn hangs(captures: &[PathBuf]) -> Vec<Value> {
    let options = ["explain", "--hang", "--format", "json"].map(str::to_owned);
    let captures = captures.iter().map(|path| path.to_str().unwrap().to_owned());
    let said = railscope(options.into_iter().chain(captures)).succeeds();
    let said: Value = serde_json::from_str(&said).unwrap();
    said["hangs"].as_array().unwrap().clone()
}

/// The first job's ranks give up before the second begins, in which a path dies.
#[test]
fn a_later_job_at_the_same_ports_changes_nothing() {
    let job = "iterations = 400\ncompute = \"8ms\"\nbuckets = [\"256KiB\"]\n";
    let scenario = format!(
        "[capture]\nuntil = \"4500ms\"\n\n[[job]]\n{job}ib_timeout = 14\nib_retries = 3\n\n[[job]]\nstart = \"2000ms\"\n{job}ib_timeout = 16\n\n\
         [[flap]]\nport = \"host2\"\nfrom = \"120ms\"\nuntil = \"1500ms\"\n\n\
         [[loss]]\nport = \"host2\"\nshare = \"100%\"\nfrom = \"2200ms\"\nto = \"host3\"\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let hangs = hangs(&captures(folder.path(), 4, &scenario));
    let of = |from: i64, until: i64| {
        let is_then = |hang: &&Value| (from..until).contains(&hang["since_ns"].as_i64().unwrap());
        let all: Vec<&Value> = hangs.iter().filter(is_then).collect();
        assert_eq!(all.len(), 1, "{hangs:#?}");
        all[0]
    };
    let (first, second) = (of(0, 1_000_000_000), of(2_000_000_000, 3_000_000_000));
    assert_eq!(
        (&first["class"], &first["subject"]["port"]),
        (&"port_down".into(), &"10.0.0.3".into())
    );
    assert_eq!(first["alternative"], "host_dead", "{first}");
    assert_eq!(second["class"], "path_dead", "{second}");
    assert_eq!(second["subject"]["port"], "10.0.0.4", "{second}");
    assert_eq!(second["subject"]["peer_port"], "10.0.0.3", "{second}");
}

/// The other port of its only path has another peer, with which all went well.
#[test]
fn a_port_with_one_peer_is_named_and_not_its_peer() {
    let job = "compute = \"8ms\"\nbuckets = [\"256KiB\"]\nib_timeout = 16\n";
    let scenario = format!(
        "[capture]\nuntil = \"1700ms\"\n\n[[job]]\nhosts = [0, 1]\niterations = 400\n{job}\n\
         [[job]]\nhosts = [1, 2]\niterations = 8\n{job}\n\
         [[loss]]\nport = \"host0\"\nshare = \"100%\"\nfrom = \"200ms\"\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let hang = &hangs(&captures(folder.path(), 3, &scenario))[0];
    assert_eq!(hang["class"], "port_down", "{hang}");
    assert_eq!(hang["subject"]["port"], "10.0.0.1", "{hang}");
}

/// The first packets of a message arrive, the last ones do not, and each timer expires once.
#[test]
fn a_path_that_dies_within_a_message() {
    for from_us in [120_750, 121_000, 121_250, 121_500] {
        let mut scenario = "[capture]\nuntil = \"2600ms\"\n\n[[job]]\niterations = 400\ncompute = \"4300us\"\n\
                            cpu = \"synchronous\"\nbuckets = [\"512KiB\", \"256KiB\"]\nib_timeout = 19\n\n"
            .to_owned();
        for host in 0..4 {
            let next = (host + 1) % 4;
            scenario += &format!(
                "[[background]]\nsender = \"host{host}\"\nreceiver = \"host{next}\"\nrate = \"1M\"\n\n"
            );
        }
        scenario += &format!(
            "[[loss]]\nport = \"host0\"\nshare = \"100%\"\nfrom = \"{from_us}us\"\nto = \"host1\"\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let hang = &hangs(&captures(folder.path(), 4, &scenario))[0];
        assert_eq!(hang["class"], "path_dead", "{from_us}: {hang}");
        assert_eq!(hang["subject"]["port"], "10.0.0.2", "{from_us}: {hang}");
        assert_eq!(hang["subject"]["peer_port"], "10.0.0.1", "{from_us}: {hang}");
    }
}

/// As of a capture that changes its file every few minutes.
#[test]
fn captures_of_one_port_one_after_the_other_are_one() {
    let test = "captures_of_one_port_one_after_the_other_are_one";
    if !require::has(test, "editcap") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    simulate(folder.path(), "[[halt]]\nrank = 2\nfrom = \"120ms\"\nwhat = \"calls\"\n");
    let capture = |host: u32| folder.path().join(format!("job/host{host}.pcapng"));
    let parts = ["before", "after"].map(|name| folder.path().join(name));
    // Simulated time begins in 2026.
    for (option, part) in ["-B", "-A"].into_iter().zip(&parts) {
        let mut cut = Command::new("editcap");
        cut.args([option, "2026-01-01 00:00:00.060"]).arg(capture(2)).arg(part).env("TZ", "UTC");
        assert!(cut.status().unwrap().success());
    }
    let [before, after] = parts;
    let hang = &hangs(&[capture(0), capture(1), before, after, capture(3)])[0];
    assert_eq!(hang["class"], "rank_not_called", "{hang}");
    assert_eq!(hang["subject"]["rank"], 2, "{hang}");
}
