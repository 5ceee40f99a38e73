//! Files and folders are named after their contents: names that fit anything are refused.

use super::tree::{File, Problem, Tree};

const BANNED: &[&str] = &["utils", "util", "helpers", "helper", "common", "misc", "types", "base"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().filter_map(check_file).collect()
}

fn check_file(file: &File) -> Option<Problem> {
    let mut stems = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    let stem = stems.find(|stem| BANNED.contains(stem))?;
    Some(file.problem(format!("`{stem}` says nothing: name it after the concept it holds")))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    #[test]
    fn names_that_fit_anything_are_refused() {
        assert_eq!(said(check, "collector/src/flow/utils.rs", "").len(), 1);
        assert_eq!(said(check, "tests/common/wire.rs", "").len(), 1);
        assert_eq!(said(check, "collector/src/flow/baseline.rs", ""), [""; 0]);
    }
}
