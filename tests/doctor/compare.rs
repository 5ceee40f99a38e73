//! Nodes side by side: what is expected, and who differs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::tree::Files;

fn doctor(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_railscope"))
        .arg("doctor")
        .args(words)
        .env_clear()
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// 64 nodes, three of which differ: firmware, MTU, a port.
fn nodes(folder: &Path) -> Vec<PathBuf> {
    let odd: [(usize, &str, &str, &str); 3] = [
        (7, "sys/class/infiniband/mlx5_2/fw_ver", "28.36.1010", "28.39.1002"),
        (23, "sys/class/net/rail5/mtu", "1500", "9000"),
        (61, "sys/class/infiniband/mlx5_4/ports/1/state", "1: DOWN", "4: ACTIVE"),
    ];
    let files = Files::of("mlx5_roce_8");
    let root = files.path();
    let node = |at: usize| {
        let name = format!("gpu{at:02}");
        fs::write(root.join("proc/sys/kernel/hostname"), &name).unwrap();
        let odd: Vec<_> = odd.iter().filter(|(of, ..)| *of == at).collect();
        odd.iter().for_each(|(_, path, bad, _)| fs::write(root.join(path), bad).unwrap());
        let output = doctor(&[
            "--root",
            root.to_str().unwrap(),
            "--json",
            "--fail-on",
            "never",
            "-o",
            folder.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        odd.iter().for_each(|(_, path, _, good)| fs::write(root.join(path), good).unwrap());
        folder.join(format!("{name}.json"))
    };
    (0..64).map(node).collect()
}

#[test]
fn three_of_sixty_four_nodes_differ() {
    let folder = tempfile::tempdir().unwrap();
    let files = nodes(folder.path());
    let words: Vec<&str> =
        std::iter::once("merge").chain(files.iter().map(|path| path.to_str().unwrap())).collect();
    let output = doctor(&words);
    let text = text(&output);
    assert!(text.starts_with("3 of 64 nodes differ: "), "{text}");
    for line in [
        ["rdma.mlx5_2.firmware", "28.39.1002 (63)", "28.36.1010", "gpu07"],
        ["net.rail5.mtu", "9000 (63)", "1500", "gpu23"],
        ["rdma.mlx5_4.1.state", "active (63)", "down", "gpu61"],
    ] {
        let is_row = |row: &str| line.iter().all(|word| row.contains(word));
        assert!(text.lines().any(is_row), "{line:?} is not in {text}");
    }
    let json = doctor(&[words.as_slice(), &["--json"]].concat());
    let comparison: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(comparison["hosts"].as_array().unwrap().len(), 64);
    assert_eq!(comparison["differences"].as_array().unwrap().len(), 3);
    assert_eq!(
        doctor(&[words.as_slice(), &["--fail-on", "warning"]].concat()).status.code(),
        Some(1)
    );
}

#[test]
fn nodes_that_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = nodes(folder.path()).into_iter().take(4).collect();
    let words: Vec<&str> =
        std::iter::once("merge").chain(files.iter().map(|path| path.to_str().unwrap())).collect();
    let output = doctor(&words);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).starts_with("4 nodes have all settings alike.\n"), "{}", text(&output));
}

#[test]
fn a_node_is_compared_with_a_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let good = Files::of("mlx5_roce_8");
    let file = folder.path().join("node.toml");
    let file = file.to_str().unwrap();
    let root = |files: &Files| files.path().to_str().unwrap().to_owned();
    assert!(doctor(&["--root", &root(&good), "--learn", "-o", file]).status.success());
    let same = text(&doctor(&["--root", &root(&good), "--expect", file]));
    assert!(same.contains("settings are as expected"), "{same}");
    let other = Files::with("mlx5_roce_8", &["/sys/class/net/rail0/mtu = 4200"]);
    let output = doctor(&["--root", &root(&other), "--expect", file, "--fail-on", "warning"]);
    assert!(
        text(&output).contains("net.rail0.mtu is 4200; expected is 9000."),
        "{}",
        text(&output)
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    for (content, words) in [
        ("", "is not what `railscope doctor --json` prints"),
        ("{}", "is not what `railscope doctor --json` prints"),
        ("[1", "is not what `railscope doctor --json` prints"),
    ] {
        fs::write(&path, content).unwrap();
        let output = doctor(&["merge", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(words), "{error}");
    }
    let output = doctor(&["--root", "/does/not/exist"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/does/not/exist is no folder"));
    fs::write(&path, "mtu = [").unwrap();
    let output = doctor(&["--expect", path.to_str().unwrap()]);
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("is no file of `railscope doctor --learn`")
    );
}

#[test]
fn nodes_that_name_devices_otherwise_are_compared_by_place() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::of("mlx5_roce_8");
    let root = files.path();
    let mut words = vec!["merge".to_owned()];
    for at in 0..4 {
        if at == 3 {
            // udev names it by its place; its firmware is old, and its interface has another name, too.
            let class = root.join("sys/class");
            fs::rename(class.join("infiniband/mlx5_3"), class.join("infiniband/rocep90s0"))
                .unwrap();
            fs::write(class.join("infiniband/rocep90s0/fw_ver"), "28.36.1010").unwrap();
        }
        let name = format!("gpu{at:02}");
        fs::write(root.join("proc/sys/kernel/hostname"), &name).unwrap();
        let (root, folder) = (root.to_str().unwrap(), folder.path().to_str().unwrap());
        doctor(&["--root", root, "--json", "--fail-on", "never", "-o", folder]);
        words.push(format!("{folder}/{name}.json"));
    }
    words.push("--json".to_owned());
    let output = doctor(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let comparison: Value = serde_json::from_str(&text(&output)).unwrap();
    let keys: Vec<&str> = comparison["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|difference| difference["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["rdma.mlx5_3.firmware", "rdma.mlx5_3.name"]);
}
