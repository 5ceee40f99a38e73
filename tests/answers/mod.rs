//! Threads in which people asked for days: the document, its fixtures, and the same without the fault.
//!
//! `tests/readme.rs` runs the commands of `docs/ANSWERS.md` and compares what they print.

mod healthy;
mod texts;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn document() -> String {
    fs::read_to_string(root().join("docs/ANSWERS.md")).unwrap()
}

/// The results of the sections, and their names.
const RESULTS: [(&str, &str); 2] = [
    ("named with the fix, or answered", "Result: named with the fix, or answered."),
    (
        "no fix in what was read of the thread: what it is, and how to tell the causes that remain",
        "Result: no fix was read, how to tell the rest.",
    ),
];

#[test]
fn the_counts_are_those_of_the_sections() {
    let document = document();
    let mut all = 0;
    for (name, line) in RESULTS {
        let number = document.matches(line).count();
        all += number;
        assert!(document.contains(&format!("| {name} | {number} |")), "{name}: {number}");
    }
    assert_eq!(document.matches("\n## ").count(), all);
    let absent = document.split_once("Not found, so not answered: ").unwrap().1;
    let absent = absent.lines().next().unwrap().split(',').count();
    assert!(document.contains(&format!("| not answered | {absent} |")));
    assert_eq!(all + absent, 25);
}

#[test]
fn every_section_has_a_command_with_a_fixture_or_the_simulator() {
    for section in document().split("\n## ").skip(1) {
        let command = section.lines().find(|line| line.starts_with("$ railscope ")).unwrap();
        let fixtures = command.split_whitespace().filter(|word| word.starts_with("tests/answers/"));
        let found = fixtures.inspect(|file| assert!(root().join(file).exists(), "{file}")).count();
        assert!(found > 0 || command.contains("railscope simulate"), "{command}");
    }
}

#[test]
fn fixtures_name_their_source_and_what_is_invented() {
    let folder = root().join("tests/answers/fixtures");
    let sources = fs::read_to_string(folder.join("SOURCES.md")).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        // JSON has no comments.
        let names_it =
            text.starts_with("# Source: https://github.com/") && text.contains("\n# Invented: ");
        assert!(names_it || name == "SOURCES.md" || sources.contains(name), "{name}");
    }
}
