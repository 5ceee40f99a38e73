//! `--threads`: the report does not depend on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::capture_file::{Order, PcapNgFile, gzip};
use crate::support::frame::FrameBuilder;
use crate::support::ip::Ipv4;
use crate::support::recording::Recording;
use crate::support::roce::Roce;
use crate::support::tool;

const JOBS: [&str; 3] =
    ["loss1pct-2.27.5", "ddp-overlap-straggler-2.27.5", "tcpstore-torch2.8.0-uv"];

const OPTIONS: [&[&str]; 6] = [
    &[],
    &["--detail", "full"],
    &["--no-link"],
    &["--since", "300ms", "--until", "1s"],
    &["--max-messages", "50"],
    &["--max-flows", "3"],
];

/// Returns what `analyze` wrote.
fn check(files: &[PathBuf], options: &[&str], folder: &Path) -> Vec<u8> {
    let mut first = None;
    for threads in ["1", "2", "4"] {
        let messages = folder.join("messages.jsonl");
        let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
        command
            .args(["analyze", "--format", "json", "--threads", threads])
            .args(options)
            .args(files);
        if options.contains(&"full") {
            command.arg("--detail-file").arg(&messages);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let outcome = (output.stdout, output.stderr, std::fs::read(&messages).ok());
        match &first {
            None => first = Some(outcome),
            Some(first) => assert!(*first == outcome, "{options:?} on {threads} threads"),
        }
    }
    first.map(|(report, ..)| report).unwrap_or_default()
}

#[test]
fn the_report_is_the_same_for_any_number_of_threads() {
    for job in JOBS {
        let recording = Recording::unpack(job);
        let files = recording.captures();
        let files: Vec<PathBuf> = files.iter().map(|name| recording.folder().join(name)).collect();
        for options in OPTIONS {
            check(&files, options, recording.folder());
        }
    }
}

fn text(report: Vec<u8>) -> String {
    String::from_utf8(report).unwrap()
}

/// The report on a capture that is compressed and so read as a whole, as if it were not.
fn as_a_whole(capture: &Path, options: &[&str], folder: &Path) -> String {
    let name = capture.file_name().unwrap().to_str().unwrap();
    let packed = [name, ".gz"].concat();
    std::fs::write(folder.join(&packed), gzip(&std::fs::read(capture).unwrap())).unwrap();
    text(check(&[folder.join(&packed)], options, folder)).replace(&packed, name)
}

#[test]
fn sections_statistics_and_many_interfaces_are_the_same_apart() {
    let packet = |bytes| {
        let frame = FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, 4791);
        frame.roce(&Roce::new(0x04, bytes)).finish().bytes
    };
    let folder = tempfile::tempdir().unwrap();
    for interfaces in [2, 3, 40] {
        let mut file = PcapNgFile::new(Order::Little);
        for _ in 0..interfaces {
            file = file.interface(1, 0, &[]);
        }
        // The second one has statistics before its first frame; the last one has no frame.
        file = file.statistics(1, 5, 0);
        for number in 0..9_000 {
            let (interface, frame) = (number % (interfaces - 1), packet(64));
            let time = 1_700_000_000_000_000 + u64::from(number) * 10;
            file = file.enhanced(interface, time, frame.len() as u32, &frame, &[]);
        }
        file =
            file.statistics(1, 7, 1).observed(0, 1_700_000_000_000_000, 1_700_000_001_000_000, 9);
        file = file.section(Order::Big).interface(1, 0, &[]).interface(1, 0, &[]);
        for interface in [1, 0, 1] {
            let frame = packet(32);
            let length = frame.len() as u32;
            file = file.enhanced(interface, 1_700_000_002_000_000, length, &frame, &[]);
        }
        let path = folder.path().join("sections.pcapng");
        std::fs::write(&path, file.bytes).unwrap();
        for options in [&["--detail", "full"][..], &["--since", "20ms", "--until", "60ms"]] {
            let apart = text(check(std::slice::from_ref(&path), options, folder.path()));
            let whole = as_a_whole(&path, options, folder.path());
            assert_eq!(apart, whole, "{interfaces} interfaces, {options:?}");
        }
    }
}

#[test]
fn the_interfaces_of_one_capture_are_followed_apart() {
    let test = "the_interfaces_of_one_capture_are_followed_apart";
    for job in JOBS {
        let recording = Recording::unpack(job);
        let folder = recording.folder();
        let merged = folder.join("merged.pcapng");
        let parts: Vec<PathBuf> =
            recording.captures().iter().map(|name| folder.join(name)).collect();
        let mut arguments = vec!["-I", "none", "-w", merged.to_str().unwrap()];
        arguments.extend(parts.iter().map(|part| part.to_str().unwrap()));
        if tool::output_of(test, "mergecap", &arguments).is_none() {
            return;
        }
        for options in OPTIONS {
            let apart = check(std::slice::from_ref(&merged), options, folder);
            if options.contains(&"--max-flows") {
                // They count for each interface.
                continue;
            }
            assert_eq!(text(apart), as_a_whole(&merged, options, folder), "{options:?}");
        }
    }
}
