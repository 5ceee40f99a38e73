//! `railscope watch`: lines without a terminal, a screen on one.

use railscope_testbed::clock::eventually;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::clock::now;
use crate::support::recording::Recording;
use crate::support::require;

/// One port of a recorded job.
fn capture(job: &Recording) -> std::path::PathBuf {
    let name = job.captures().into_iter().find(|name| name.contains("roce0")).unwrap();
    job.folder().join(name)
}

/// A growing capture is reported as it grows, and an interrupt ends it cleanly.
#[test]
fn lines_are_printed_while_a_file_grows() {
    let job = Recording::unpack("long-straggler-2.28.9");
    let bytes = std::fs::read(capture(&job)).unwrap();
    let path = job.folder().join("growing.pcap");
    File::create(&path).unwrap().write_all(&bytes[..bytes.len() / 2]).unwrap();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_railscope"));
    watch.arg("watch").arg(&path).args(["--every", "100ms"]);
    watch.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watch = watch.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let mut growing = OpenOptions::new().append(true).open(&path).unwrap();
    growing.write_all(&bytes[bytes.len() / 2..]).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    interrupt(&watch);
    let mut said = String::new();
    watch.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(watch.wait().unwrap().success());
    let grown: Vec<&str> = said.lines().filter(|line| line.contains("training step ")).collect();
    // Read in one go, when the file is complete.
    let whole = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["watch", "-", "--every", "1h"])
        .stdin(File::open(capture(&job)).unwrap())
        .output()
        .unwrap();
    let whole = String::from_utf8(whole.stdout).unwrap();
    let whole: Vec<&str> = whole.lines().filter(|line| line.contains("training step ")).collect();
    assert!(grown.len() > 5, "{said}");
    // Early lines may have less detail; rank and time are the same.
    let head = |line: &&str| line.split(": ").next().unwrap().to_owned();
    let (grown, whole): (Vec<_>, Vec<_>) =
        (grown.iter().map(head).collect(), whole.iter().map(head).collect());
    assert_eq!(grown, whole);
}

fn interrupt(child: &std::process::Child) {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
}

#[test]
fn input_that_cannot_be_watched_is_an_error() {
    let watch = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
            .arg("watch")
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(watch(&["-i", "nosuch0"]).contains("no interface nosuch0; this host has:"));
    assert!(watch(&["/nonexistent.pcap"]).contains("open capture /nonexistent.pcap"));
    assert!(watch(&["-"]).contains("empty"));
    let nothing = watch(&[]);
    assert!(nothing.contains("railscope watch -i INTERFACE"), "{nothing}");
    assert!(nothing.contains("railscope watch FILE"), "{nothing}");
    assert!(watch(&["x", "--window", "soon"]).contains("write 500ms, 1.5s, 10m"));
    assert!(watch(&["-i", "lo", "--netns", "/nonexistent"]).contains("network namespace"));
}

/// Whether this is output of `stty -g`.
fn is_modes(line: &str) -> bool {
    let line = line.trim();
    line.matches(':').count() > 8 && line.chars().all(|c| c == ':' || c.is_ascii_hexdigit())
}

/// The screen appears, a key changes it, and `q` or a signal restores the terminal.
#[test]
fn a_view_restores_the_terminal() {
    let test = "a_view_restores_the_terminal";
    if !require::has(test, "script") {
        return;
    }
    let job = Recording::unpack("straggler-2.27.5");
    let (railscope, file) = (env!("CARGO_BIN_EXE_railscope"), capture(&job));
    for (end, keys) in
        [("", "sleep 2; printf 7; sleep 1; printf q"), ("timeout --foreground -s TERM 3", "")]
    {
        let keys = if keys.is_empty() { "sleep 4" } else { keys };
        let size = "stty columns 100 rows 24";
        let line =
            format!("{size}; stty -g; {end} {railscope} watch {}; echo; stty -g", file.display());
        let script = format!("({keys}) | script --quiet --command '{line}' /dev/null");
        let begun = now();
        let output =
            Command::new("sh").args(["-c", &script]).env("TERM", "xterm").output().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20));
        let shown = String::from_utf8_lossy(&output.stdout);
        let modes: Vec<&str> = shown.lines().filter(|line| is_modes(line)).collect();
        assert_eq!(modes.len(), 2, "{shown}");
        assert_eq!(modes[0].trim(), modes[1].trim());
        assert!(shown.contains("\x1b[?1049h") && shown.contains("\x1b[?1049l"), "{shown:?}");
        assert!(shown.contains("TIME"), "{shown:?}");
        // The tab of the table that is shown is reversed.
        assert_eq!(shown.contains("\x1b[7m 7 Findings"), end.is_empty(), "{shown:?}");
    }
}

/// Longest time to exit.
const PROMPT: Duration = Duration::from_secs(5);

/// Whether a process runs. A zombie, whose exit code nobody has read yet, does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// Whether a process ends soon; kills it if not.
fn ends(pid: &str) -> bool {
    let begun = now();
    while runs(pid) && begun.elapsed() < PROMPT {
        std::thread::sleep(Duration::from_millis(50));
    }
    let has_ended = !runs(pid);
    if !has_ended {
        let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
        _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    has_ended
}

/// The screen ends when its terminal is gone, with or without SIGHUP to the terminal's session, and
/// on SIGTERM.
#[test]
fn a_view_ends_with_its_terminal() {
    let test = "a_view_ends_with_its_terminal";
    if !require::has(test, "script") || !require::has(test, "setsid") {
        return;
    }
    let job = Recording::unpack("straggler-2.27.5");
    let [pid, code, log, script] = ["pid", "code", "log", "run.sh"].map(|it| job.folder().join(it));
    let start = format!(
        "trap '' HUP\nstty columns 100 rows 24\nsh -c 'echo $$ > {}; exec {} watch {}'\necho $? > {}\n",
        pid.display(),
        env!("CARGO_BIN_EXE_railscope"),
        capture(&job).display(),
        code.display(),
    );
    std::fs::write(&script, start).unwrap();
    for (session, is_killed) in [("", false), ("setsid --wait", false), ("", true)] {
        for file in [&pid, &code, &log] {
            _ = std::fs::remove_file(file);
        }
        let mut terminal = Command::new("script")
            .args(["--quiet", "--flush", "--command"])
            .arg(format!("{session} sh {}", script.display()))
            .arg(&log)
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the view is up", || {
            std::fs::read(&log).is_ok_and(|log| String::from_utf8_lossy(&log).contains("TIME"))
        });
        let watch = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
        if is_killed {
            let pid = nix::unistd::Pid::from_raw(watch.parse().unwrap());
            nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        } else {
            // This closes its end of the terminal.
            terminal.kill().unwrap();
        }
        let has_ended = ends(&watch);
        _ = terminal.kill();
        terminal.wait().unwrap();
        assert!(has_ended, "still running without a terminal: {session:?}, SIGTERM: {is_killed}");
        let exit_code = || std::fs::read_to_string(&code).unwrap_or_default();
        eventually("its exit code is written", || exit_code().ends_with('\n'));
        assert_eq!(exit_code(), "0\n");
    }
}

/// No more lines once their reader is gone.
#[test]
fn lines_end_with_their_reader() {
    let job = Recording::unpack("straggler-2.27.5");
    let mut watch = Command::new(env!("CARGO_BIN_EXE_railscope"));
    watch.arg("watch").arg(capture(&job)).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watch = watch.spawn().unwrap();
    let mut lines = watch.stdout.take().unwrap();
    let mut first = [0];
    lines.read_exact(&mut first).unwrap();
    drop(lines);
    let pid = watch.id().to_string();
    assert!(ends(&pid), "still running without a reader");
    assert!(watch.wait().unwrap().success());
}
