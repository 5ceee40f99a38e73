//! A process that is killed, where the others of its job give up at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_testbed::broken::{BrokenJob, Fault};
use railscope_testbed::clock::eventually;

use crate::support::railscope::{PROGRAM, analyze};
use crate::support::require;
use crate::support::{fabric, pcap};

/// A capture that goes on after its last frame: some other frame comes later.
fn goes_on(path: &Path, after_ns: u64) {
    const FILE_HEADER: usize = 24;
    const RECORD_HEADER: usize = 16;
    let mut capture = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut last_ns) = (FILE_HEADER, 0);
    while at + RECORD_HEADER <= capture.len() {
        last_ns = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        at += RECORD_HEADER + word(at + 8) as usize;
    }
    let parts: [&[u8]; 4] = [&[0xff; 6], &[2, 0, 0, 0, 0, 9], &[0x08, 0x06], &[0; 46]];
    let broadcast = parts.concat();
    pcap::record(&mut capture, last_ns + after_ns, &broadcast, broadcast.len());
    std::fs::write(path, capture).unwrap();
}

const OPTIONS: &str = "--ranks 4 --buckets 64KiB --compute 25ms -T 6s";

/// The captures of a job whose rank 2 is killed after some seconds of data.
fn killed(folder: &Path) -> Vec<PathBuf> {
    let options = format!("{OPTIONS} --iterations 4000");
    let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    let job = BrokenJob::start(Path::new(PROGRAM), &options, folder);
    job.break_it(4, 20_000_000, Fault::Killed { rank: 2 });
    assert!(!job.wait(), "the job goes on");
    captures(folder)
}

fn captures(folder: &Path) -> Vec<PathBuf> {
    (0..4).map(|rank| folder.join(format!("rank{rank}.pcap"))).collect()
}

fn is_named(captures: &[PathBuf]) {
    let report = analyze(captures);
    let verdict = &report["verdicts"][0];
    assert_eq!(verdict["id"], "process_gone", "{:#}", report["verdicts"]);
    assert_eq!(verdict["subject"]["rank"], 2, "{:#}", report["verdicts"]);
}

fn can_run(test: &str, programs: &[&str]) -> bool {
    require::root(test) && programs.iter().all(|program| require::has(test, program))
}

/// Their connections end as those of a set-up do, but a set-up began them just before.
#[test]
fn peers_that_give_up_at_once_are_no_set_up() {
    if !can_run("peers_that_give_up_at_once_are_no_set_up", &["ip"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let captures = killed(folder.path());
    captures.iter().for_each(|capture| goes_on(capture, 3_000_000_000));
    is_named(&captures);
}

/// The jobs that follow have its addresses, and its queue pair numbers.
#[test]
fn the_next_jobs_do_not_bring_it_back() {
    if !can_run("the_next_jobs_do_not_bring_it_back", &["ip", "mergecap"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let jobs = ["killed", "next", "last"].map(|name| folder.path().join(name));
    killed(&jobs[0]);
    for job in &jobs[1..] {
        let mut drive = Command::new(PROGRAM);
        drive.args(["drive", "--place", "netns", "--iterations", "40", "--record"]).arg(job);
        let output = drive.args(OPTIONS.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    for capture in captures(folder.path()) {
        let name = capture.file_name().unwrap();
        let mut merge = Command::new("mergecap");
        merge.arg("-a").arg("-w").arg(&capture).args(jobs.iter().map(|job| job.join(name)));
        assert!(merge.status().unwrap().success(), "{}", capture.display());
    }
    is_named(&captures(folder.path()));
}

/// Ranks that see a peer die give up one after the other: another may be the first that sends nothing for those
/// that go on, and it is not the cause.
#[test]
fn those_that_give_up_first_are_not_blamed() {
    let test = "those_that_give_up_first_are_not_blamed";
    if !can_run(test, &["ip"]) {
        return;
    }
    fabric::run(test, 4, |fabric| {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..2 {
            let path = folder.path().join(format!("{number}.pcapng"));
            let mut capture = Command::new(PROGRAM);
            capture.args(["capture", "-i", "port0,port1,port2,port3", "-o"]).arg(&path);
            let mut capture = capture.stderr(Stdio::null()).spawn().unwrap();
            eventually("it captures", || path.exists());
            let options = "--buckets 160KiB,32KiB --compute 20ms --check 0 --channels 5 -T 6s";
            let mut ranks = fabric.drive(&format!("{options} --iterations 4000"));
            let begun = || path.metadata().is_ok_and(|file| file.len() > 8_000_000);
            eventually("data is captured", begun);
            // A set-up ends connections, too.
            thread::sleep(Duration::from_secs(2));
            ranks[2].kill().unwrap();
            ranks.iter_mut().for_each(|rank| _ = rank.wait().unwrap());
            // Its time shows that nothing more came.
            for mut rank in fabric.drive(&format!("{options} --iterations 120")) {
                assert!(rank.wait().unwrap().success());
            }
            kill(Pid::from_raw(i32::try_from(capture.id()).unwrap()), Signal::SIGINT).unwrap();
            assert!(capture.wait().unwrap().success());
            let report = analyze(&[path]);
            let verdicts = report["verdicts"].as_array().unwrap();
            // If all computed, none asked for data. A rank of the second job may truly be late.
            let gone = verdicts.iter().filter(|verdict| verdict["severity"] != "info");
            for verdict in gone {
                assert_eq!(verdict["id"], "process_gone", "{verdicts:#?}");
                assert_eq!(verdict["subject"]["rank"], 2, "{verdicts:#?}");
            }
        }
    });
}

/// The ranks of both give up after a while; the second has the addresses of the first.
#[test]
fn each_of_two_jobs_that_die_has_its_own_verdict() {
    let test = "each_of_two_jobs_that_die_has_its_own_verdict";
    if !can_run(test, &["ip"]) {
        return;
    }
    fabric::run(test, 4, |fabric| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two.pcapng");
        let mut capture = Command::new(PROGRAM);
        capture.args(["capture", "-i", "port0,port1,port2,port3", "-o"]).arg(&path);
        let mut capture = capture.stderr(Stdio::null()).spawn().unwrap();
        eventually("it captures", || path.exists());
        let options = "--buckets 160KiB,32KiB --compute 20ms --check 0 -T 4s --keep-waiting";
        for _ in 0..2 {
            let before = path.metadata().unwrap().len();
            let mut ranks = fabric.drive(&format!("{options} --iterations 4000"));
            let begun = || path.metadata().is_ok_and(|file| file.len() > before + 8_000_000);
            eventually("data is captured", begun);
            thread::sleep(Duration::from_secs(2));
            ranks[2].kill().unwrap();
            ranks.iter_mut().for_each(|rank| _ = rank.wait().unwrap());
        }
        kill(Pid::from_raw(i32::try_from(capture.id()).unwrap()), Signal::SIGINT).unwrap();
        assert!(capture.wait().unwrap().success());
        let report = analyze(&[path]);
        let verdicts = report["verdicts"].as_array().unwrap();
        let gone: Vec<i64> = verdicts
            .iter()
            .filter(|verdict| verdict["id"] == "process_gone" && verdict["subject"]["rank"] == 2)
            .map(|verdict| verdict["since_ns"].as_i64().unwrap())
            .collect();
        assert_eq!(gone.len(), 2, "{verdicts:#?}");
        assert!(gone[0].abs_diff(gone[1]) > 4_000_000_000, "{gone:?}");
        let critical = verdicts.iter().filter(|verdict| verdict["severity"] == "critical");
        assert_eq!(critical.count(), 2, "{verdicts:#?}");
    });
}
