//! The agent's own ring: a trigger saves it, so does a client, and metrics say what was recorded.

use std::path::{Path, PathBuf};
use std::process::Command;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use crate::support::fabric;
use crate::support::railscope::{PROGRAM, analyze};

/// Rank 2 is late from the seventh training step on.
const JOB: &str = "--iterations 12 --warmup_iters 0 --check 0 --buckets 1MiB,512KiB --compute 60ms \
                   --straggler rank=2,delay=700ms,iterations=7..9";

fn settings(folder: &Path) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    vec![
        "taps.interfaces=[\"port*\"]".to_owned(),
        "otlp.interval=\"500ms\"".to_owned(),
        "record.enabled=true".to_owned(),
        "record.on=[\"step:2x\"]".to_owned(),
        "record.after=\"500ms\"".to_owned(),
        "record.files=2".to_owned(),
        format!("record.ring={:?}", path("ring")),
        format!("record.folder={:?}", path("captures")),
        format!("record.socket={:?}", path("agent.sock")),
    ]
}

fn saved(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("captures")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "zst")).collect();
    files.sort();
    files
}

/// Exit status and all that it printed.
fn ask(folder: &Path, reason: &str) -> (bool, String) {
    let mut command = Command::new(PROGRAM);
    command.args(["capture", "save", "--after", "0s", reason, "--socket"]);
    let output = command.arg(folder.join("agent.sock")).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn a_slow_training_step_saves_the_ring() {
    fabric::run("a_slow_training_step_saves_the_ring", 4, |fabric| {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path());
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let agent = Agent::start(PROGRAM, &settings);
        for mut rank in fabric.drive(JOB) {
            assert!(rank.wait().unwrap().success());
        }
        eventually("the ring is saved", || !saved(folder.path()).is_empty());
        let report = analyze(&saved(folder.path())[..1]);
        assert_eq!(report["communicators"][0]["nranks"], 4);
        let iterations = report["iterations"].as_array().unwrap();
        let is_late = |one: &serde_json::Value| one["straggler"]["rank"] == 2;
        assert!(iterations.iter().any(is_late), "the slow training step is in the file");

        let (is_saved, said) = ask(folder.path(), "users complain");
        assert!(is_saved && said.contains("save: users complain"), "{said}");
        assert_eq!(saved(folder.path()).len(), 2);
        let (is_saved, said) = ask(folder.path(), "again");
        assert!(!is_saved && said.contains("has 2 files; move them away to make room"), "{said}");
        let value = |metrics: &str, name: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.rsplit(' ').next())
                .and_then(|value| value.parse::<f64>().ok())
        };
        eventually("metrics say so", || {
            let metrics = agent.get("/metrics").unwrap();
            let saves = |outcome: &str| {
                let name = "railscope_record_saves_total{railscope_save_outcome=\"";
                value(&metrics, &format!("{name}{outcome}\"")).unwrap_or_default()
            };
            let frames = value(&metrics, "railscope_record_frames_total").unwrap_or_default();
            saves("saved") == 2.0 && saves("refused") >= 1.0 && frames > 1000.0
        });
        let said = agent.stop();
        assert!(said.contains("record: trigger: slow step: training step "), "{said}");
    });
}

#[test]
fn what_cannot_be_recorded_is_said() {
    fabric::run("what_cannot_be_recorded_is_said", 1, |_| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ring"), "in the way").unwrap();
        let settings = settings(folder.path());
        let mut command = Command::new(PROGRAM);
        command.args(["agent", "--check"]);
        settings.iter().for_each(|setting| _ = command.args(["--set", setting]));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("error: record.ring: ") && said.contains("is no folder"), "{said}");
        let listed = String::from_utf8(output.stdout).unwrap();
        assert!(listed.contains("frames to record: yes"), "{listed}");
        assert!(!folder.path().join("captures").exists(), "a check creates nothing");
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        // Where the driver drops copies, there is nothing to record.
        let with_mirror = [&settings[..], &["taps.mirrors=[\"port*\"]"]].concat();
        let said = Agent::start(PROGRAM, &with_mirror).stop();
        assert!(said.contains("record: ") && said.contains("is a mirror port, where"), "{said}");
        // It goes on without.
        let agent = Agent::start(PROGRAM, &settings);
        let said = agent.stop();
        assert!(said.contains("record: create ") && said.contains("trying again"), "{said}");
    });
}
