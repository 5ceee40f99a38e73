//! Every Rust file begins by saying what it is.

use super::tree::{Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let headless = tree.rust_files().filter(|file| !file.text.starts_with("//! "));
    headless.map(|file| file.problem("begin the file with a `//!` line: what it is")).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    #[test]
    fn a_file_without_a_head_is_refused() {
        assert_eq!(said(check, "a.rs", "//! A file.\nfn f() {}"), [""; 0]);
        assert_eq!(said(check, "a.rs", "#![no_std]\n//! A file.").len(), 1);
        assert_eq!(said(check, "a.rs", "").len(), 1);
    }
}
