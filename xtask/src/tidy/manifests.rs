//! Every crate of the workspace takes its version, edition, lints and dependencies from the root.

use super::tree::{File, Problem, Tree, numbered};

/// Excluded from the workspace, hence nothing to inherit: cargo-fuzz builds it with its own flags.
const APART: &str = "tests/fuzz/";

const INHERITED: &[&str] = &["version", "edition", "rust-version", "license"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let crates = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    crates.filter(|file| !file.path.starts_with(APART)).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for key in INHERITED {
        let wanted = format!("{key}.workspace = true");
        if !file.text.lines().any(|line| line == wanted) {
            problems.push(file.problem(format!("add `{wanted}` to [package]")));
        }
    }
    let mut has_lints = false;
    let mut section = "";
    for (line, text) in numbered(&file.text) {
        if text.starts_with('[') {
            section = text;
        } else if section == "[lints]" && text == "workspace = true" {
            has_lints = true;
        } else if section.ends_with("dependencies]") && is_own_version(text) {
            let fix =
                "name the version in the root's [workspace.dependencies], here `workspace = true`";
            problems.push(file.problem_at(line, fix));
        }
    }
    if !has_lints {
        problems.push(file.problem("add `workspace = true` under [lints]"));
    }
    problems
}

fn is_own_version(line: &str) -> bool {
    let is_entry = !line.trim().is_empty() && !line.starts_with('#') && line.contains('=');
    is_entry && !line.contains("workspace = true")
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    const GOOD: &str = "[package]\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\n\
        [dependencies]\n# Why.\na.workspace = true\nb = { workspace = true, optional = true }\n\n\
        [lints]\nworkspace = true\n";

    #[test]
    fn what_the_root_says_is_inherited() {
        assert_eq!(said(check, "x/Cargo.toml", GOOD), [""; 0]);
        assert_eq!(
            said(check, "x/Cargo.toml", &GOOD.replace("edition.workspace = true\n", "")).len(),
            1
        );
        assert_eq!(
            said(check, "x/Cargo.toml", &GOOD.replace("[lints]\nworkspace = true\n", "")).len(),
            1
        );
        let own = GOOD.replace("a.workspace = true", "a = \"1\"");
        assert!(
            said(check, "x/Cargo.toml", &own)[0].starts_with("x/Cargo.toml:8: name the version")
        );
    }
}
