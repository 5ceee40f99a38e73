//! A Rust file holds one concept: past 600 lines it is split, or says that it is a table.

use super::tree::{Problem, Tree};

const LIMIT: usize = 600;
const TABLE: &str = "// tidy: table";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let long = tree.rust_files().filter(|file| {
        file.text.lines().count() > LIMIT && !file.text.lines().any(|line| line.trim() == TABLE)
    });
    let fix = format!("longer than {LIMIT} lines: split it by concept, or mark a table `{TABLE}`");
    long.map(|file| file.problem(fix.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, TABLE, check};
    use crate::tidy::tree::said;

    #[test]
    fn long_files_say_that_they_are_tables() {
        let long = "x\n".repeat(LIMIT + 1);
        assert_eq!(said(check, "a.rs", &long).len(), 1);
        assert_eq!(said(check, "a.rs", &format!("{TABLE}\n{long}")), [""; 0]);
        assert_eq!(said(check, "a.rs", &"x\n".repeat(LIMIT)), [""; 0]);
    }
}
