//! The documents that a reader expects exist, and the links between documents lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::tree::{File, Problem, Tree, numbered};
use crate::repository;

const EXPECTED: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = missing(tree);
    problems.extend(broken_links(tree));
    problems
}

fn missing(tree: &Tree) -> Vec<Problem> {
    let is_there = |name: &str| tree.files.iter().any(|file| file.path == name);
    let absent = EXPECTED.iter().filter(|name| !is_there(name));
    absent
        .map(|&name| Problem { path: name.into(), line: None, message: "write this file".into() })
        .collect()
}

fn broken_links(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md") && !file.is_data()) {
        for (line, target) in links(&file.text) {
            if !leads_somewhere(tree, file, target) {
                let fix = format!("the link `{target}` leads nowhere: correct or remove it");
                problems.push(file.problem_at(line, fix));
            }
        }
    }
    problems
}

/// The targets of `[text](target)` outside code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (line, text) in numbered(text) {
        if text.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        // Every other piece between back quotes is code.
        for prose in text.split('`').step_by(2) {
            let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(targets.map(|(target, _)| (line, target)));
        }
    }
    found
}

fn leads_somewhere(tree: &Tree, from: &File, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = Path::new(&from.path).parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { PathBuf::from(&from.path) } else { normal(&folder.join(path)) };
    match tree.files.iter().find(|file| Path::new(&file.path) == path) {
        Some(file) => anchor.is_empty() || anchors(&file.text).any(|known| known == anchor),
        // A folder, or a file that is not text.
        None => anchor.is_empty() && repository::root().join(&path).exists(),
    }
}

/// `path` without `.` and `..`, which git's names do not have.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::Normal(name) => out.push(name),
            _ => {}
        }
    }
    out
}

/// The anchors that a forge makes of headings: lower case, spaces to hyphens, punctuation dropped.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{broken_links, missing};
    use crate::tidy::tree::said;

    #[test]
    fn links_lead_somewhere() {
        let text = "# A b, c\n[x](#a-b-c) [y](../docs/a.md) [z](https://example.org/q)\n\
            `[code](no)`\n```\n[code](no)\n```\n";
        assert_eq!(said(broken_links, "docs/a.md", text), [""; 0]);
        assert_eq!(said(broken_links, "docs/a.md", "[x](no-such-file.md)").len(), 1);
        assert_eq!(said(broken_links, "docs/a.md", "# A\n[x](#b)").len(), 1);
    }

    #[test]
    fn expected_documents_are_missed() {
        let lines = said(missing, "README.md", "");
        assert!(lines.contains(&"CHANGELOG.md: write this file".into()), "{lines:?}");
    }
}
