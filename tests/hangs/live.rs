//! A job that hangs while it is watched: nothing comes any more, and that is the news.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use nix::sched::{CloneFlags, unshare};
use railscope_testbed::clock::eventually;

use crate::support::railscope::PROGRAM;
use crate::support::require;

/// Rank 2 does not call the collective of training step 15, for as long as the test lasts.
const JOB: &str = "drive --place loopback --ranks 4 --iterations 40 --warmup_iters 0 --check 0 --buckets 512KiB \
                   --compute 100ms --timeout 120s --straggler rank=2,delay=60s,iterations=15..15";

/// From the last packet to the verdict, at most: 5 s of silence, and the same again for a busy machine.
const LIMIT_S: f64 = 10.0;

struct Running(Child);

impl Running {
    fn start(line: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// What `watch` printed until it named the hang.
fn watched(source: &str) {
    let mut watch = Running::start(&format!("watch -i lo --plain --source {source}"));
    let mut out = watch.0.stdout.take().unwrap();
    let (lines, said) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = out.read(&mut bytes) {
            _ = lines.send(String::from_utf8_lossy(&bytes[..count]).into_owned());
        }
    });
    // The job's bootstrap must be seen.
    let mut error = BufReader::new(watch.0.stderr.take().unwrap()).lines();
    let begun = error.find(|line| line.as_ref().is_ok_and(|line| line.contains(" at lo: ")));
    assert!(begun.is_some(), "{source}");
    let _job = Running::start(JOB);
    let mut text = String::new();
    eventually("the hang is said", || {
        said.try_iter().for_each(|more| text += &more);
        text.lines().any(|line| line.contains("critical: ") && line.ends_with(" s"))
    });
    let hang = text.lines().find(|line| line.contains("critical: ")).unwrap();
    assert!(hang.contains("rank 2"), "{hang}");
    let silence = hang.rsplit(' ').nth(1).unwrap().parse::<f64>().unwrap();
    assert!((5.0..LIMIT_S).contains(&silence), "{hang}");
}

#[test]
fn watch_says_that_nothing_moves() {
    let test = "watch_says_that_nothing_moves";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let work = || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
        assert!(up.unwrap().success());
        for source in ["ebpf", "af-packet"] {
            watched(source);
        }
    };
    std::thread::spawn(work).join().unwrap();
}
