//! One file with everything.

use std::process::Command;

use nix::sys::signal::Signal;
use railscope_testbed::clock::eventually;

use super::run::{Capture, files, on_a_wire, send, sizes};
use crate::support::railscope::PROGRAM;
use crate::support::tool;

#[test]
fn every_frame_is_in_the_file() {
    let test = "every_frame_is_in_the_file";
    on_a_wire(test, move || {
        let folder = tempfile::tempdir().unwrap();
        for name in ["out.pcapng", "out.pcapng.zst"] {
            let path = folder.path().join(name);
            let capture = Capture::start(&["-o", path.to_str().unwrap()]);
            send(200, 4792, 1000);
            let said = capture.interrupted();
            assert!(said.contains("captured 200 frames") && said.contains("lost 0"), "{said}");
            assert_eq!(sizes(&path), [1042; 200]);
        }
        let path = folder.path().join("out.pcapng");
        let path = path.to_str().unwrap();
        let Some(said) = tool::output_of(test, "capinfos", &[path]) else { return };
        for wanted in [
            "Number of packets:   200",
            "Capture oper-sys:    Linux ",
            "Capture application: railscope ",
            "Capture comment:     captured on ",
            "Name = a",
            "Number of stat entries = 1",
            "Time precision = nanoseconds (9)",
        ] {
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
    });
}

/// Frames cut by number, and as the analysis needs them: RoCE to headers, other UDP to 256 bytes.
#[test]
fn frames_are_cut() {
    let test = "frames_are_cut";
    on_a_wire(test, move || {
        let folder = tempfile::tempdir().unwrap();
        for (snaplen, roce, other) in [("96", 96, 96), ("auto", 256, 256), ("0", 1042, 1042)] {
            let path = folder.path().join("out.pcapng");
            let path = path.to_str().unwrap();
            let capture = Capture::start(&["-o", path, "-s", snaplen]);
            send(1, 4791, 1000);
            send(1, 4792, 1000);
            capture.interrupted();
            let fields = ["-r", path, "-T", "fields", "-e", "frame.cap_len", "-e", "frame.len"];
            let Some(said) = tool::output_of(test, "tshark", &fields) else { return };
            assert_eq!(said, format!("{roce}\t1042\n{other}\t1042\n"), "{snaplen}");
        }
    });
}

#[test]
fn a_filter_leaves_frames_out() {
    on_a_wire("a_filter_leaves_frames_out", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let filter = "port == 5000 and size > 500";
        let capture = Capture::start(&["-o", path.to_str().unwrap(), "-Y", filter]);
        send(3, 5000, 1000);
        send(4, 5000, 100);
        send(5, 5001, 1000);
        let said = capture.interrupted();
        assert!(said.contains("9 frames left out by --filter"), "{said}");
        assert_eq!(sizes(&path), [1042; 3]);
    });
}

#[test]
fn it_ends_after_a_time_and_at_a_size() {
    on_a_wire("it_ends_after_a_time_and_at_a_size", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let path = path.to_str().unwrap();
        let mut capture = Capture::start(&["-o", path, "--for", "500ms"]);
        assert!(capture.ends().success());
        let mut capture = Capture::start(&["-o", path, "-s", "0", "--max-size", "1MiB"]);
        for _ in 0..20 {
            send(100, 5000, 1400);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(capture.ends().success(), "{}", capture.said());
        let bytes = std::fs::metadata(path).unwrap().len();
        assert!((1 << 20..4 << 20).contains(&bytes), "{bytes}");
    });
}

/// Its exit code is the command's; SIGUSR1 reaches the command as ever.
#[test]
fn a_command_is_recorded() {
    on_a_wire("a_command_is_recorded", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let path_text = path.to_str().unwrap();
        let script = "exec 3>/dev/udp/10.9.0.2/5000; echo hello >&3; exit 7";
        let mut capture = Capture::start(&["-o", path_text, "--", "bash", "-c", script]);
        assert_eq!(capture.ends().code(), Some(7), "{}", capture.said());
        assert_eq!(sizes(&path), [48]);
        let mut capture = Capture::start(&["-o", path_text, "--", "sh", "-c", "kill -USR1 $$"]);
        assert_eq!(capture.ends().code(), Some(128 + Signal::SIGUSR1 as i32));
        let mut capture = Command::new(PROGRAM);
        capture.args(["capture", "-i", "a", "-o", path_text, "--", "/nonexistent"]);
        let output = capture.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("run /nonexistent"));
    });
}

/// An interface that is removed ends the capture; the file has what came before.
#[test]
fn an_interface_goes_away() {
    on_a_wire("an_interface_goes_away", || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.pcapng");
        let mut capture = Capture::start(&["-o", path.to_str().unwrap()]);
        send(5, 5000, 100);
        eventually("it is written", || std::fs::metadata(&path).unwrap().len() > 800);
        super::run::ip("link del dev a");
        assert!(capture.ends().success(), "{}", capture.said());
        assert!(capture.said().contains("a: the interface was removed"), "{}", capture.said());
        // ARP and the like may come before an interface goes.
        assert!(sizes(&path).iter().filter(|size| **size == 142).count() == 5);
        assert_eq!(files(folder.path()).len(), 1);
    });
}
