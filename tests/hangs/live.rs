//! A job that hangs while it is watched: nothing comes any more, and that is the news.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use railscope_testbed::clock::eventually;

use crate::support::clock::now;
use crate::support::railscope::PROGRAM;
use crate::support::require;

/// Rank 2 does not call the collective of training step 15, for as long as the test lasts.
const JOB: &str = "drive --place loopback --ranks 4 --iterations 40 --warmup_iters 0 --check 0 --buckets 512KiB \
                   --compute 100ms --timeout 120s --straggler rank=2,delay=60s,iterations=15..15";

/// From the last packet to the verdict, at most: 5 s of silence, and the same again for a busy machine.
const LIMIT: Duration = Duration::from_secs(10);

struct Running(Child);

impl Running {
    fn start(line: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::null());
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
    let _job = Running::start(JOB);
    let (mut text, mut latest) = (String::new(), now());
    eventually("the hang is said", || {
        while let Ok(more) = said.try_recv() {
            if more.contains("training step 1") {
                latest = now();
            }
            text += &more;
        }
        text.contains("critical: ")
    });
    let hang = text.lines().find(|line| line.contains("critical: ")).unwrap();
    assert!(hang.contains("rank 2"), "{hang}");
    assert!(latest.elapsed() < LIMIT, "{:?}: {text}", latest.elapsed());
    assert!(text.contains("training step 14"), "the job ran before: {text}");
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
