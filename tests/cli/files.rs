//! Capture files, good and bad.

use super::{analyze, railscope, railscope_with_input, text, unpacked, write};
use crate::support::{capture_file, fixture};

const SMALL: &str = "rdmacm_rping.pcap.gz";

const FRAMES: u64 = 365;

/// Both commands reject the file with this message.
fn check_refused(file: &str, message: &str) {
    for command in ["analyze", "packets"] {
        let said = railscope([command, file]).fails();
        assert_eq!(said, format!("error: open capture {file}{message}\n"), "{command}");
    }
}

#[test]
fn files_that_are_not_captures_are_rejected_by_name() {
    let directory = tempfile::tempdir().unwrap();
    check_refused("no_such.pcap", ": No such file or directory (os error 2)");
    check_refused(text(directory.path()), ": it is a directory; name the files in it");
    for (name, bytes, message) in [
        (
            "empty",
            b"".as_slice(),
            ": the file is empty; check that what writes it has begun to write",
        ),
        (
            "program",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
            ": not a pcap or pcapng file; it is a program (ELF)",
        ),
        (
            "archive.zip",
            b"PK\x03\x04\x14\0\0\0",
            ": not a pcap or pcapng file; it is a zip archive: unpack it first",
        ),
    ] {
        check_refused(text(&write(&directory, name, bytes)), message);
    }
}

#[test]
fn one_bad_file_among_good_ones_stops_everything() {
    let directory = tempfile::tempdir().unwrap();
    let program = write(&directory, "program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let said = railscope(["analyze", SMALL, text(&program), SMALL]).fails();
    assert!(said.starts_with("error: open capture ") && said.contains("program: "), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn files_are_recognised_by_content() {
    let directory = tempfile::tempdir().unwrap();
    let log = write(&directory, "job.out", b"n1:1:1 [0] NCCL INFO Using network IB\n");
    let notes = write(&directory, "notes.txt", b"12:00:01 IP 10.0.0.1 > 10.0.0.2\n");
    let run = railscope(["analyze", "--format", "json", SMALL, text(&log), text(&notes)]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let inputs = report["inputs"].as_array().unwrap().iter();
    let inputs: Vec<_> = inputs
        .map(|one| (one["kind"].as_str().unwrap(), one["read"] != 0, one["note"].is_null()))
        .collect();
    assert_eq!(
        inputs,
        [("capture", true, true), ("nccl_log", true, true), ("nccl_log", false, false)]
    );
}

#[test]
fn a_truncated_capture_is_analyzed_up_to_the_cut() {
    let whole = unpacked(SMALL);
    let directory = tempfile::tempdir().unwrap();
    let half = &whole[..whole.len() / 2];
    let packed = capture_file::gzip(&whole);
    let squeezed = capture_file::zstd(&whole);
    for (name, bytes, problem) in [
        ("cut.pcap", half, "the file ends after "),
        ("cut.pcap.gz", &packed[..packed.len() / 2], "the gzip stream is truncated"),
        ("cut.pcap.zst", &squeezed[..squeezed.len() / 2], "the zstd stream is truncated"),
    ] {
        let path = write(&directory, name, bytes);
        let run = railscope(["analyze", "--format", "json", text(&path)]);
        let start = format!("warning: capture {}: {problem}", path.display());
        assert!(run.stderr.starts_with(&start), "{}", run.stderr);
        assert!(run.stderr.contains(", at byte "), "{}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1);
        let warning = run.stderr.clone();
        let report: serde_json::Value = serde_json::from_str(&run.warns()).unwrap();
        let frames = report["capture"]["frames"].as_u64().unwrap();
        assert!(frames > 100 && frames < FRAMES, "{name}: {frames}");
        assert!(
            warning.contains(&format!("; the {frames} frames before it were read")),
            "{warning}"
        );
        assert_eq!(report["health"]["capture.file_problems"], 1);

        let packets = railscope(["packets", text(&path)]);
        assert_eq!(packets.stderr, warning);
        assert_eq!(packets.warns().lines().count() as u64, frames);
    }
}

#[test]
fn standard_input_is_a_file_like_others() {
    let plain = unpacked(SMALL);
    let packed = std::fs::read(fixture::path(SMALL)).unwrap();
    let named = railscope(["packets", SMALL]).succeeds();
    for input in [&plain, &packed] {
        assert_eq!(railscope_with_input(&["packets", "-"], input).succeeds(), named);
        let report = railscope_with_input(&["analyze", "-"], input).succeeds();
        assert!(report.contains("standard input  365 frames, "), "{report}");
    }
    let said = railscope_with_input(&["analyze", "-"], b"").fails();
    assert!(said.starts_with("error: open capture -: the file is empty"), "{said}");
    let said = railscope_with_input(&["analyze", "-", "-"], &plain).fails();
    assert_eq!(said, "error: open capture -: standard input can be read only once\n");
}

#[test]
fn several_files_are_several_taps() {
    let report = analyze(&["write_lat.pcap.gz", SMALL]);
    let files: Vec<_> = report["taps"].as_array().unwrap().iter().map(|tap| &tap["file"]).collect();
    assert_eq!(files, ["write_lat.pcap.gz", SMALL]);
    assert_eq!(report["capture"]["frames"], 8000 + FRAMES);

    let lines = railscope(["packets", "write_lat.pcap.gz", SMALL]).succeeds();
    let taps =
        |tap| lines.lines().filter(|line| line.split_whitespace().nth(1) == Some(tap)).count();
    assert_eq!((taps("0"), taps("1")), (8000, FRAMES as usize));
}
