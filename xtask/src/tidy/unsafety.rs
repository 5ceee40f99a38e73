//! The keyword `unsafe` lives in files named `sys.rs` and in the kernel programs, nowhere else.

use super::source::{code, identifiers, line_of};
use super::tree::{File, Problem, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files().filter(|file| !may_be_unsafe(&file.path)).flat_map(check_file).collect()
}

fn may_be_unsafe(path: &str) -> bool {
    let is_kernel_program =
        path.starts_with("collector-ebpf/src/") && path != "collector-ebpf/src/lib.rs";
    path.ends_with("/sys.rs") || is_kernel_program
}

fn check_file(file: &File) -> Vec<Problem> {
    let code = code(&file.text);
    let found = identifiers(&code).filter(|(_, word)| *word == "unsafe");
    found
        .map(|(range, _)| {
            let fix = "move the raw call behind a safe signature in a file named `sys.rs`";
            file.problem_at(line_of(&code, range.start), fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    #[test]
    fn only_sys_and_kernel_programs_may() {
        let text = "\nunsafe { f() }";
        assert!(said(check, "collector/src/ingest/ebpf.rs", text)[0].contains("ebpf.rs:2: move"));
        assert_eq!(said(check, "collector/src/ingest/ebpf/sys.rs", text), [""; 0]);
        assert_eq!(said(check, "collector-ebpf/src/main.rs", text), [""; 0]);
        assert_eq!(said(check, "collector-ebpf/src/lib.rs", text).len(), 1);
    }

    #[test]
    fn the_lint_and_prose_are_not_the_keyword() {
        let text = "#![deny(unsafe_code)] // unsafe\nlet s = \"unsafe\";";
        assert_eq!(said(check, "collector/src/lib.rs", text), [""; 0]);
    }
}
