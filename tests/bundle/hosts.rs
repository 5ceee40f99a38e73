//! Four hosts, each of which records its rank of a job into a bundle.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use railscope_testbed::fabric::{Fabric, PROGRAMS};

use super::{members, succeeds};
use crate::support::railscope::PROGRAM;
use crate::support::require;

const HOSTS: usize = 4;

#[test]
fn bundles_of_four_hosts_are_the_job() {
    let test = "bundles_of_four_hosts_are_the_job";
    if !require::root(test) || !PROGRAMS.iter().all(|program| require::has(test, program)) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().to_owned();
    let printed = Fabric::run(PROGRAM, HOSTS, move |fabric| {
        let started: Vec<Child> =
            (0..HOSTS).map(|host| record(fabric, host, &inside).spawn().unwrap()).collect();
        let output = started.into_iter().map(|child| child.wait_with_output().unwrap());
        let output: Vec<_> = output.collect();
        for one in &output {
            let errors = String::from_utf8_lossy(&one.stderr);
            assert!(one.status.success(), "{errors}");
        }
        output.into_iter().map(|one| String::from_utf8(one.stdout).unwrap()).collect::<Vec<_>>()
    });
    let path = |host: usize, end: &str| folder.path().join(format!("gpu-node-{host}{end}"));
    let all = |end: &str| (0..HOSTS).map(|host| path(host, end)).collect::<Vec<PathBuf>>();
    let bundles = all(".railscope.tar.zst");
    for (printed, bundle) in printed.iter().zip(&bundles) {
        let again = succeeds(&["analyze"], std::slice::from_ref(bundle));
        // Before it, the driver printed its own table.
        assert!(printed.ends_with(&again), "{printed}\n---\n{again}");
        let members = members(bundle);
        let roles: Vec<&str> =
            members.iter().map(|(path, _)| path.split('/').next().unwrap()).collect();
        assert_eq!(roles, ["manifest.json", "capture", "nccl_log", "report.json"]);
    }
    let files = [all(".pcapng"), all(".log")].concat();
    let of_files = succeeds(&["analyze", "--format", "json"], &files);
    let of_bundles = succeeds(&["analyze", "--format", "json"], &bundles);
    let own = format!("{}/", folder.path().display());
    let plain = |text: &str| text.replace(&own, "");
    assert!(plain(&of_bundles) == plain(&of_files));
    let said = succeeds(&["analyze"], &bundles);
    assert!(said.contains("rank 2"), "{said}");
}

/// A recording of one rank: rank 2 is late.
fn record(fabric: &Fabric, host: usize, folder: &Path) -> Command {
    let file = |end: &str| folder.join(format!("gpu-node-{host}{end}"));
    let mut command = fabric.on(host, PROGRAM);
    command.args(["capture", "-i", "eth0", "--bundle"]).arg(file(".railscope.tar.zst"));
    command.arg("-o").arg(file(".pcapng")).arg("--nccl-log").arg(file(".log"));
    command.args(["--", "sh", "-c"]);
    command.arg(format!(
        "{PROGRAM} drive --iterations 8 --buckets 256KiB --compute 20ms \
         --straggler rank=2,delay=60ms,iterations=4..6 --log logs && mv logs/* {}",
        file(".log").display()
    ));
    let own = folder.join(host.to_string());
    std::fs::create_dir(&own).unwrap();
    command.current_dir(own);
    command.envs([
        ("RANK", host.to_string()),
        ("WORLD_SIZE", HOSTS.to_string()),
        ("LOCAL_RANK", "0".to_owned()),
        ("MASTER_ADDR", "10.0.0.1".to_owned()),
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn nothing_stays_behind_and_a_missing_log_costs_nothing() {
    if !require::root("nothing_stays_behind_and_a_missing_log_costs_nothing") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let record = |more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["capture", "-i", "lo", "--bundle", "job.tar.zst"]).args(more);
        let output = command.current_dir(&folder).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let names = || {
        let all = std::fs::read_dir(&folder).unwrap();
        all.map(|one| one.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let there = folder.path().join("job.tar.zst");
    std::fs::write(&there, "notes").unwrap();
    let (is_well, said) = record(&["--", "true"]);
    assert!(!is_well && said.contains("is there and is no bundle"), "{said}");
    std::fs::remove_file(there).unwrap();
    let (is_well, said) = record(&["--", "no-such-command"]);
    assert!(!is_well && !names().iter().any(|name| name.ends_with(".jsonl")), "{said}");
    let (is_well, said) =
        record(&["--nccl-log", "no.*.log", "--train-log", "no.txt", "--", "true"]);
    assert!(is_well && said.contains("not in the bundle: no.txt"), "{said}");
    assert!(names().contains(&"job.tar.zst".to_owned()));
}
