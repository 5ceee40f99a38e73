//! What the README shows is what the program prints.

use std::path::Path;
use std::process::Command;

use crate::support::recording::Recording;

/// The lines that the README shows behind the command `prompt`.
fn shown(readme: &str, prompt: &str) -> String {
    let (_, after) = readme.split_once(&format!("$ {prompt}\n")).unwrap();
    let (block, _) = after.split_once("```").unwrap();
    block.to_owned()
}

#[test]
fn the_first_command_prints_what_the_readme_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let capture = "tests/fixtures/loss1_send_bw_post.pcap.gz";
    let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["analyze", capture])
        .current_dir(&root)
        .output()
        .unwrap();
    let prompt = format!("cargo run --release -- analyze {capture}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), shown(&readme, &prompt));
}

#[test]
fn the_job_is_told_as_the_readme_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = shown(&readme, "railscope analyze target/job/*.pcap");
    let job = Recording::unpack("loss1pct-2.27.5");
    let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .arg("analyze")
        .args(job.captures())
        .current_dir(job.folder())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let told = block.strip_prefix("...\n").and_then(|block| block.strip_suffix("...\n")).unwrap();
    assert!(output.contains(told), "{output}");
}
