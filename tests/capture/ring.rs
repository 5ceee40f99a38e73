//! A ring: bounded, private, saved when asked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use railscope_testbed::clock::eventually;

use super::run::{Capture, files, on_a_wire, send, sizes};
use crate::support::railscope::PROGRAM;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_signal_saves_what_came_before_and_after() {
    on_a_wire("a_signal_saves_what_came_before_and_after", || {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("saved");
        let options = ["--keep", "1m", "--after", "1s", "-o", output.to_str().unwrap()];
        let capture = Capture::start(&options);
        send(20, 5000, 100);
        std::thread::sleep(Duration::from_millis(500));
        let ring = output.join(".railscope-ring");
        assert_eq!(mode(&ring), 0o700);
        eventually("a segment is written", || fs::read_dir(&ring).unwrap().count() == 2);
        for entry in fs::read_dir(&ring).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
        capture.signal(Signal::SIGUSR1);
        capture.waits_for("trigger: SIGUSR1; saving in 1.0 s");
        send(30, 5000, 200);
        // It joins the first.
        capture.signal(Signal::SIGUSR1);
        capture.waits_for("saved ");
        send(40, 5000, 300);
        capture.interrupted();
        let saved = files(&output);
        assert_eq!(saved.len(), 1, "{saved:?}");
        assert!(saved[0].to_string_lossy().ends_with("-SIGUSR1.pcapng"), "{saved:?}");
        assert_eq!(sizes(&saved[0]), [vec![142; 20], vec![242; 30]].concat());
        // Nothing is left of the ring.
        assert!(!ring.exists());
    });
}

/// What is older than asked is gone, also from the disk.
#[test]
fn a_ring_forgets() {
    on_a_wire("a_ring_forgets", || {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("one.pcapng.zst");
        let options = ["--keep", "1s", "--on", "end", "-o", output.to_str().unwrap()];
        let capture = Capture::start(&options);
        send(50, 5000, 100);
        std::thread::sleep(Duration::from_secs(3));
        send(10, 5000, 200);
        std::thread::sleep(Duration::from_millis(500));
        let said = capture.interrupted();
        assert!(said.contains("end: the capture ended"), "{said}");
        assert_eq!(sizes(&output), [242; 10]);
    });
}

/// The size counts more than the time.
#[test]
fn a_ring_is_bounded() {
    on_a_wire("a_ring_is_bounded", || {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().to_str().unwrap();
        let options = ["--keep", "1h", "--max-size", "1MiB", "-s", "0", "-o", output];
        let capture = Capture::start(&options);
        let ring = folder.path().join(".railscope-ring");
        let size = || {
            let entries = fs::read_dir(&ring).unwrap().flatten();
            entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum::<u64>()
        };
        let mut noise = fastrand::Rng::with_seed(7);
        let socket = std::net::UdpSocket::bind("10.9.0.1:0").unwrap();
        let mut largest = 0;
        for _ in 0..30 {
            for _ in 0..100 {
                // What cannot be compressed.
                let payload: Vec<u8> = (0..1400).map(|_| noise.u8(..)).collect();
                socket.send_to(&payload, "10.9.0.2:5000").unwrap();
            }
            std::thread::sleep(Duration::from_millis(30));
            largest = largest.max(size());
        }
        // One batch may be on its way.
        assert!(largest < 2 << 20, "{largest}");
        let said = capture.interrupted();
        assert!(said.contains("segments removed before their time"), "{said}");
    });
}

#[test]
fn another_process_asks_over_the_socket() {
    on_a_wire("another_process_asks_over_the_socket", || {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("run/capture.sock");
        let (output, socket_text) = (folder.path().join("out"), socket.to_str().unwrap());
        let options = ["--keep", "1m", "-o", output.to_str().unwrap(), "--socket", socket_text];
        // A socket that a killed capture left.
        fs::create_dir(folder.path().join("run")).unwrap();
        drop(UnixListener::bind(&socket).unwrap());
        let capture = Capture::start(&options);
        assert_eq!(mode(&socket), 0o600);
        send(20, 5000, 100);
        let save = |arguments: &[&str]| {
            let mut save = Command::new(PROGRAM);
            save.args(["capture", "save", "--socket", socket_text]).args(arguments);
            save.output().unwrap()
        };
        let asked = save(&["--after", "300ms", "users complain"]);
        let said = String::from_utf8(asked.stdout).unwrap();
        assert!(asked.status.success(), "{said}");
        assert!(said.starts_with("saved ") && said.contains("20 frames"), "{said}");
        assert!(said.contains("users complain"), "{said}");
        // A second capture may neither take the ring nor the socket.
        let second = |arguments: &[&str]| {
            let mut second = Command::new(PROGRAM);
            second.args(["capture", "-i", "a", "--keep", "1m"]).args(arguments);
            let output = second.stdin(Stdio::null()).output().unwrap();
            assert_eq!(output.status.code(), Some(2));
            String::from_utf8(output.stderr).unwrap()
        };
        let said = second(&["-o", output.to_str().unwrap()]);
        assert!(said.contains("another capture writes to it"), "{said}");
        let other = folder.path().join("other");
        let said = second(&["-o", other.to_str().unwrap(), "--socket", socket_text]);
        assert!(said.contains("another process listens there"), "{said}");
        // Whatever a client says, the capture goes on.
        for line in ["{\"save\":{\"bytes\":1}}\n", "GET / HTTP/1.1\r\n", "\n"] {
            use std::io::{Read, Write};
            let mut client = std::os::unix::net::UnixStream::connect(&socket).unwrap();
            client.write_all(line.as_bytes()).unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("{\"error\":\"not a request"), "{line}: {answer}");
        }
        capture.interrupted();
        assert!(!socket.exists());
        let asked = save(&[]);
        assert_eq!(asked.status.code(), Some(2));
        assert_eq!(files(&output).len(), 1);
    });
}

/// A killed capture leaves readable segments; the next one removes them.
#[test]
fn a_killed_capture_leaves_segments_that_can_be_read() {
    on_a_wire("a_killed_capture_leaves_segments_that_can_be_read", || {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().to_str().unwrap();
        let options = ["--keep", "4s", "-o", output];
        let capture = Capture::start(&options);
        send(20, 5000, 100);
        std::thread::sleep(Duration::from_secs(1));
        send(20, 5000, 100);
        std::thread::sleep(Duration::from_secs(1));
        capture.signal(Signal::SIGKILL);
        drop(capture);
        let ring = folder.path().join(".railscope-ring");
        let segments = files(&ring);
        let segments: Vec<_> =
            segments.iter().filter(|path| path.to_string_lossy().contains("recent-")).collect();
        assert!(!segments.is_empty());
        assert_eq!(sizes(segments[0]), [142; 20]);
        let capture = Capture::start(&options);
        capture.waits_for("segments that an earlier recording left in the ring");
        capture.interrupted();
    });
}

/// A file system of 1 MiB, which this thread alone sees.
fn small_disk(folder: &Path) -> PathBuf {
    let disk = folder.join("disk");
    fs::create_dir(&disk).unwrap();
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
    let private = ["--make-rprivate", "/"];
    assert!(Command::new("mount").args(private).status().unwrap().success());
    let tmpfs = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", disk.to_str().unwrap()];
    assert!(Command::new("mount").args(tmpfs).status().unwrap().success());
    disk
}

/// Sends 4 MB that cannot be compressed.
fn send_noise() {
    let mut noise = fastrand::Rng::with_seed(7);
    let socket = std::net::UdpSocket::bind("10.9.0.1:0").unwrap();
    for _ in 0..3000 {
        let payload: Vec<u8> = (0..1400).map(|_| noise.u8(..)).collect();
        socket.send_to(&payload, "10.9.0.2:5000").unwrap();
    }
    std::thread::sleep(Duration::from_millis(500));
}

/// A full disk costs frames, which are counted; the capture goes on.
#[test]
fn a_full_disk_is_no_end() {
    let test = "a_full_disk_is_no_end";
    on_a_wire(test, move || {
        let folder = tempfile::tempdir().unwrap();
        let disk = small_disk(folder.path());
        let ring = disk.join("ring");
        let output = folder.path().join("out");
        let options = ["--keep", "1h", "-s", "0", "--on", "end", "--ring", ring.to_str().unwrap()];
        let capture = Capture::start(&[&options[..], &["-o", output.to_str().unwrap()]].concat());
        send_noise();
        let said = capture.interrupted();
        assert!(said.contains("failed writes to the ring"), "{said}");
        assert!(said.contains("captured 3,000 frames"), "{said}");
        let saved = files(&output);
        assert_eq!(saved.len(), 1, "{said}");
        assert!(sizes(&saved[0]).len() < 3000);
    });
}

/// The ring is all that there is of it.
#[test]
fn a_failed_last_save_leaves_the_ring() {
    on_a_wire("a_failed_last_save_leaves_the_ring", move || {
        let folder = tempfile::tempdir().unwrap();
        let disk = small_disk(folder.path());
        let ring = folder.path().join("ring");
        let options = ["--keep", "1h", "-s", "0", "--on", "end", "--ring", ring.to_str().unwrap()];
        let mut capture = Capture::start(&[&options[..], &["-o", disk.to_str().unwrap()]].concat());
        send_noise();
        capture.signal(Signal::SIGINT);
        assert!(!capture.ends().success());
        let said = capture.said();
        assert!(said.contains("not saved: ") && said.contains("the ring is kept"), "{said}");
        let segments = files(&ring);
        assert!(segments.iter().any(|path| sizes(path).len() > 1000), "{segments:?}");
    });
}
