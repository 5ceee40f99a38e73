//! The report of a bundle is the one that was written into it, byte for byte.

use std::path::PathBuf;

use super::{members, run, succeeds};
use crate::support::recording::Recording;

#[test]
fn a_bundle_says_what_its_files_said() {
    for name in ["ring-2.27.5", "loss1pct-2.27.5", "tcpstore-torch2.8.0-uv", "alltoall-2.27.5"] {
        let job = Recording::unpack(name);
        let out = job.folder().join("job.railscope.tar.zst");
        let arguments = ["analyze", "--format", "json", "--bundle", out.to_str().unwrap()];
        let direct = succeeds(&arguments, &super::files_of(&job));
        let members = members(&out);
        assert_eq!(members[0].0, "manifest.json");
        let (last, report) = members.last().unwrap();
        assert_eq!((last.as_str(), report == direct.as_bytes()), ("report.json", true));
        let again = succeeds(&["analyze", "--format", "json"], &[out]);
        assert!(again == direct, "{name}");
    }
}

/// A report that is kept lists all queue pairs; one that is only printed as text, no more than it shows.
#[test]
fn a_text_says_the_same_whether_all_queue_pairs_are_listed_or_not() {
    for name in ["ring-2.27.5", "loss1pct-2.27.5"] {
        let job = Recording::unpack(name);
        let files = super::files_of(&job);
        let out = job.folder().join("job.railscope.tar.zst");
        let shown = succeeds(&["analyze", "--top", "3"], &files);
        let kept = ["analyze", "--top", "3", "--bundle", out.to_str().unwrap()];
        assert!(succeeds(&kept, &files) == shown, "{name}");
        assert!(shown.contains(" more: --top "), "{shown}");
    }
}

#[test]
fn options_travel_and_those_given_win() {
    let job = Recording::unpack("ring-2.27.5");
    let files = super::files_of(&job);
    let out = job.folder().join("job.railscope.tar.zst");
    let options = [
        "analyze",
        "--format",
        "json",
        "--line-rate",
        "10G",
        "--until",
        "5s",
        "--set",
        "findings.hang_after_s=3",
    ];
    let direct = succeeds(&[&options[..], &["--bundle", out.to_str().unwrap()]].concat(), &files);
    assert!(succeeds(&["analyze", "--format", "json"], std::slice::from_ref(&out)) == direct);
    let other = succeeds(&["analyze", "--format", "json", "--line-rate", "25G"], &[out]);
    assert!(other.contains("25000000000") && !direct.contains("25000000000"));
}

#[test]
fn bundles_of_several_hosts_are_one_job() {
    let job = Recording::unpack("ring-2.27.5");
    let files = super::files_of(&job);
    let direct = succeeds(&["analyze", "--format", "json"], &files);
    let mut bundles: Vec<PathBuf> = Vec::new();
    for node in ["node01", "node02", "node03", "node04"] {
        let host = node.replace("node", "gpu-node-");
        let own = |path: &&PathBuf| {
            path.to_str().unwrap().contains(node) || path.to_str().unwrap().contains(&host)
        };
        let own: Vec<PathBuf> = files.iter().filter(own).cloned().collect();
        assert!(own.len() >= 2, "{own:?}");
        let out = job.folder().join([node, ".railscope.tar.zst"].concat());
        succeeds(&["analyze", "--format", "json", "--bundle", out.to_str().unwrap()], &own);
        bundles.push(out);
    }
    assert!(succeeds(&["analyze", "--format", "json"], &bundles) == direct);
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_read() {
    let job = Recording::unpack("ranks2-2.27.5");
    let files = super::files_of(&job);
    let out = job.folder().join("job.railscope.tar.zst");
    for option in [&["--no-link"][..], &["--qpn", "17"]] {
        let arguments = [&["analyze", "--bundle", out.to_str().unwrap()], option].concat();
        let output = run(&arguments, &files);
        assert!(!output.status.success() && !out.exists());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("--bundle keeps the whole job"), "{said}");
    }
}

#[test]
fn only_a_bundle_is_replaced() {
    let job = Recording::unpack("ranks2-2.27.5");
    let files = super::files_of(&job);
    let capture = std::fs::read(&files[0]).unwrap();
    // The shell puts the first capture in the place of a forgotten name.
    for arguments in [&["analyze", "--bundle"][..], &["scrub", "-o"]] {
        let output = run(arguments, &files);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("is there and is no bundle"), "{said}");
        assert!(std::fs::read(&files[0]).unwrap() == capture);
    }
    let out = tempfile::NamedTempFile::with_suffix(".railscope.tar.zst").unwrap();
    for place in ["an empty file", "the bundle"] {
        let arguments = ["analyze", "--bundle", out.path().to_str().unwrap()];
        succeeds(&arguments, &files);
        assert!(!members(out.path()).is_empty(), "{place}");
    }
}
