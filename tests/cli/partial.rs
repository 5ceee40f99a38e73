//! `--partial`: captures are reduced apart, and the report from the parts is the one from all at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::hostile::checks;
use crate::support::recording::Recording;

fn run<S: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_railscope")).arg("analyze").args(words).output().unwrap()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Reduces captures; each list to a part.
fn reduce(lists: &[&[PathBuf]], options: &[&str], folder: &Path) -> Vec<String> {
    let parts = lists.iter().zip(0..).map(|(captures, number)| {
        let part = folder.join(format!("{number}.part"));
        let words = ["--partial".to_owned(), text(&part)].into_iter();
        let words = words.chain(options.iter().map(|&word| word.to_owned()));
        let output = run(words.chain(captures.iter().map(|capture| text(capture))));
        assert!(output.status.success() && output.stdout.is_empty(), "{}", said(&output));
        text(&part)
    });
    parts.collect()
}

fn captures(recording: &Recording) -> Vec<PathBuf> {
    recording.captures().iter().map(|name| recording.folder().join(name)).collect()
}

#[test]
fn the_report_from_parts_is_that_of_all_captures() {
    for job in ["loss1pct-2.27.5", "ddp-overlap-straggler-2.27.5", "tcpstore-torch2.8.0-uv"] {
        let recording = Recording::unpack(job);
        let files = captures(&recording);
        let names: Vec<String> = files.iter().map(|file| text(file)).collect();
        let folder = tempfile::tempdir().unwrap();
        let report: Value = serde_json::from_slice(
            &run(["--format", "json"].into_iter().chain(names.iter().map(String::as_str))).stdout,
        )
        .unwrap();
        let origin = report["capture"]["origin_ns"].as_str().map(|text| text.parse().unwrap());
        let origin = origin.unwrap_or_else(|| report["capture"]["origin_ns"].as_u64().unwrap());
        let date = |ms: u64| {
            let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(origin + ms * 1_000_000);
            humantime::format_rfc3339_nanos(at).to_string()
        };
        let (since, until) = (date(300), date(1000));
        for options in [
            &[][..],
            &["--line-rate", "100G"],
            &["--since", &since, "--until", &until],
            &["--max-messages", "50"],
            &["--max-flows", "3"],
        ] {
            let (first, rest) = files.split_at(1);
            for lists in [files.chunks(1).collect::<Vec<_>>(), vec![first, rest]] {
                let lists: Vec<&[PathBuf]> =
                    lists.into_iter().filter(|list| !list.is_empty()).collect();
                let parts = reduce(&lists, options, folder.path());
                for format in ["json", "text", "html"] {
                    let judge = |options: &[&str], inputs: &[String]| {
                        let words = ["--format", format].into_iter().chain(options.iter().copied());
                        run(words.chain(inputs.iter().map(String::as_str)))
                    };
                    let whole = judge(options, &names);
                    let joined = judge(&[], &parts);
                    assert!(joined.status.success(), "{}", said(&joined));
                    assert!(whole.stdout == joined.stdout, "{job} {options:?} {format}");
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let recording = Recording::unpack("loss1pct-2.27.5");
    let files = captures(&recording);
    let folder = tempfile::tempdir().unwrap();
    let parts = reduce(&files.chunks(1).collect::<Vec<_>>(), &[], folder.path());
    let other = tempfile::tempdir().unwrap();
    let fast = reduce(&[&files[..1]], &["--line-rate", "100G"], other.path()).remove(0);
    let capture = text(&files[0]);
    for (words, why) in [
        (vec![&parts[1], &fast], "made with --line-rate 100000000000"),
        (vec![&parts[0], &parts[0]], "judge each capture once"),
        (vec![&parts[0], &capture], "cannot be judged together"),
        (vec![&parts[0], &"--line-rate=100G".to_owned()], "give it with --partial"),
        (vec![&parts[0], &"--detail=full".to_owned()], "parts have no single messages"),
        (vec![&parts[0], &"--filter=nak".to_owned()], "--filter selects packets"),
        (vec![&"--partial=/nowhere/a.part".to_owned(), &capture], "/nowhere/a.part"),
        (vec![&"--partial=a.part".to_owned(), &parts[0]], "name them, not parts"),
        (vec![&"--partial=a.part".to_owned(), &"--since=1s".to_owned(), &capture], "as dates"),
    ] {
        let output = run(words.iter().map(|word| word.as_str()));
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{words:?}: {}", said(&output));
    }
}

/// Hosts record alike: the names of their captures say nothing.
#[test]
fn captures_of_one_name_are_told_apart_by_their_parts() {
    let recording = Recording::unpack("loss1pct-2.27.5");
    let files = captures(&recording);
    let folder = tempfile::tempdir().unwrap();
    let parts = files.iter().zip(0..).map(|(file, number)| {
        let host = folder.path().join(format!("host{number}"));
        fs::create_dir(&host).unwrap();
        fs::copy(file, host.join("eth0.pcap")).unwrap();
        let part = format!("{number}.part");
        let mut reduce = Command::new(env!("CARGO_BIN_EXE_railscope"));
        reduce.current_dir(&host).args(["analyze", "--partial", &part, "eth0.pcap"]);
        assert!(reduce.status().unwrap().success());
        text(&host.join(part))
    });
    let parts: Vec<String> = parts.collect();
    let json = |inputs: &[String]| -> Value {
        let words = ["--format", "json"].into_iter().chain(inputs.iter().map(String::as_str));
        serde_json::from_slice(&run(words).stdout).unwrap()
    };
    let names: Vec<String> = files.iter().map(|file| text(file)).collect();
    let (whole, joined) = (json(&names), json(&parts));
    for (tap, part) in joined["taps"].as_array().unwrap().iter().zip(&parts) {
        assert_eq!(tap["file"], format!("{part}:eth0.pcap"));
    }
    let verdict = |report: &Value| report["verdicts"][0]["title"].clone();
    let psns = |report: &Value| -> Vec<Value> {
        report["flows"].as_array().unwrap().iter().map(|flow| flow["psn"].clone()).collect()
    };
    assert_eq!((verdict(&joined), psns(&joined)), (verdict(&whole), psns(&whole)));
}

#[test]
fn what_is_no_part_is_not_replaced() {
    let recording = Recording::unpack("loss1pct-2.27.5");
    let files = captures(&recording);
    let before = fs::read(&files[0]).unwrap();
    for target in [text(&files[0]), "/dev/full".to_owned(), "-".to_owned()] {
        let output = run(["--partial", &target, &text(&files[1])]);
        assert_eq!(output.status.code(), Some(2), "{target}: {}", said(&output));
    }
    assert!(fs::read(&files[0]).unwrap() == before);
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        reduce(&[&files[..1]], &[], folder.path());
    }
}

#[test]
fn damaged_parts_are_refused() {
    let recording = Recording::unpack("loss1pct-2.27.5");
    let folder = tempfile::tempdir().unwrap();
    let part = reduce(&[&captures(&recording)], &[], folder.path()).remove(0);
    let whole = fs::read(&part).unwrap();
    let judge = |bytes: &[u8]| {
        fs::write(&part, bytes).unwrap();
        let output = run([&part]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    for length in [6, 13, 100, whole.len() / 2, whole.len() - 1] {
        let said = judge(&whole[..length]);
        assert!(said.contains("truncated or damaged"), "{length} of {}: {said}", whole.len());
    }
    for at in (12..whole.len()).step_by(whole.len() / 40) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        let said = judge(&damaged);
        assert!(said.contains(".part"), "byte {at}: {said}");
    }
    let records = zstd::decode_all(&whole[12..]).unwrap();
    for at in (0..records.len()).step_by(records.len() / 300) {
        let mut damaged = records.clone();
        damaged[at] ^= 0x81;
        checks::part::check_of(&damaged, env!("CARGO_PKG_VERSION"));
    }
    let mut other = whole.clone();
    other[8] ^= 0xff;
    assert!(judge(&other).contains("the format of another version"));
    other.truncate(9);
    assert!(judge(&other).contains("truncated or damaged"));
}
