//! No trailing white space, no tab in Rust, one newline at the end: diffs show only what changed.

use super::tree::{File, Problem, Tree, numbered};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().filter(|file| !file.is_data()).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    // `lines` would hide a carriage return.
    for (line, text) in (1..).zip(file.text.split('\n')) {
        if text.ends_with([' ', '\t', '\r']) {
            problems.push(file.problem_at(line, "remove the white space at the end of the line"));
        }
    }
    if file.path.ends_with(".rs") {
        let tabs = numbered(&file.text).filter(|(_, text)| text.contains('\t'));
        problems
            .extend(tabs.map(|(line, _)| file.problem_at(line, "write spaces or `\\t`, no tab")));
    }
    if !file.text.is_empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) {
        problems.push(file.problem("end the file with exactly one newline"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    #[test]
    fn stray_white_space_is_refused() {
        assert_eq!(said(check, "a.md", "a \nb\r\nc\n").len(), 2);
        assert_eq!(said(check, "a.rs", "a\n\tb\n").len(), 1);
        assert_eq!(said(check, "a.toml", "a").len(), 1);
        assert_eq!(said(check, "a.toml", "a\n\n").len(), 1);
        assert_eq!(said(check, "a.toml", "a\n\nb\n"), [""; 0]);
        assert_eq!(said(check, "tests/golden/a.txt", "a "), [""; 0]);
    }
}
