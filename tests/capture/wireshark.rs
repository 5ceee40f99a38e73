//! The profile for Wireshark, with tshark.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::recording::Recording;
use crate::support::require;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/wireshark");

/// A configuration that holds the profile.
struct Configuration(tempfile::TempDir);

impl Configuration {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("profiles/railscope");
        std::fs::create_dir_all(&profile).unwrap();
        for entry in std::fs::read_dir(Path::new(FOLDER).join("railscope")).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, profile.join(path.file_name().unwrap())).unwrap();
        }
        Self(folder)
    }

    /// Standard output and standard error.
    fn tshark(&self, arguments: &[&str]) -> (String, String) {
        let mut command = Command::new("tshark");
        command.env("WIRESHARK_CONFIG_DIR", self.0.path()).args(["-C", "railscope"]);
        command.arg("-X").arg(format!("lua_script:{FOLDER}/nccl.lua")).args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    /// One field of all packets that have it.
    fn field(&self, path: &str, name: &str) -> Vec<String> {
        let (text, _) = self.tshark(&["-n", "-Y", name, "-T", "fields", "-e", name, "-r", path]);
        text.lines().map(str::to_owned).collect()
    }
}

fn port(run: &str) -> (Recording, PathBuf) {
    let job = Recording::unpack(run);
    let name = job.captures().into_iter().find(|name| name.contains("roce0")).unwrap();
    let path = job.folder().join(name);
    (job, path)
}

/// Each release's clear-to-sends are told apart, and messages have the sizes of their first packets.
#[test]
fn nccl_is_dissected() {
    if !require::has("nccl_is_dissected", "tshark") {
        return;
    }
    let wireshark = Configuration::new();
    for (run, layout) in [
        ("ring-2.18.6", "2.12 to 2.19"),
        ("ring-2.21.5", "2.20 to 2.23"),
        ("ring-2.27.5", "2.24 to 2.29"),
        ("ring-2.30.7", "2.30 and later"),
    ] {
        let (_job, path) = port(run);
        let path = path.to_str().unwrap();
        let layouts = wireshark.field(path, "nccl.cts.layout");
        assert!(layouts.len() > 20, "{run}: {} clear-to-sends", layouts.len());
        assert!(layouts.iter().all(|one| one == layout), "{run}: {layouts:?}");
        let sizes: BTreeSet<_> = wireshark.field(path, "nccl.immediate.size").into_iter().collect();
        let (lengths, _) = wireshark.tshark(&[
            "-n",
            "-Y",
            "infiniband.bth.opcode in {0x06, 0x0b}",
            "-T",
            "fields",
            "-e",
            "infiniband.reth.dmalen",
            "-r",
            path,
        ]);
        let lengths: BTreeSet<_> = lengths.lines().map(str::to_owned).collect();
        assert_eq!(sizes, lengths, "{run}");
    }
}

/// tshark takes the profile without a complaint, and shows its columns.
#[test]
fn the_profile_has_columns_and_colours() {
    if !require::has("the_profile_has_columns_and_colours", "tshark") {
        return;
    }
    let wireshark = Configuration::new();
    let (_job, path) = port("loss1pct-2.27.5");
    let path = path.to_str().unwrap();
    let (text, said) = wireshark.tshark(&["-r", path, "--color", "-Y", "nccl.cts", "-c", "4000"]);
    let line = text.lines().next().unwrap();
    for wanted in ["0x", "RDMA WRITE Only", "CTS ", " from rank "] {
        assert!(line.contains(wanted), "{line}");
    }
    let complaints = said.lines().filter(|line| !line.starts_with("Running as user"));
    assert_eq!(complaints.collect::<Vec<_>>(), [""; 0]);
}
