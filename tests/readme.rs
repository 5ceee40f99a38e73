//! What the README shows is what the program prints.

use std::path::Path;
use std::process::Command;

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
