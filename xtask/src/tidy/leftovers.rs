//! Nothing unfinished is left behind: every reminder says what removes it. (Clippy refuses the macros.)

use super::source::comments;
use super::tree::{File, Problem, Tree, numbered};

const REMINDER: &str = "TODO";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let comments = comments(&file.text);
    let reminders = numbered(&comments)
        .filter(|(_, text)| text.contains(REMINDER) && !text.contains("until"))
        .map(|(line, _)| {
            let fix =
                "do it now, say `FIXME` and what is wrong, or `until` which condition it stays";
            file.problem_at(line, fix)
        });
    reminders.collect()
}

#[cfg(test)]
mod tests {
    use super::{REMINDER, check};
    use crate::tidy::tree::said;

    #[test]
    fn a_reminder_names_its_end() {
        assert_eq!(said(check, "a.rs", &format!("// {REMINDER}: later")).len(), 1);
        assert_eq!(said(check, "a.rs", &format!("// {REMINDER} until Rust 1.98: use x.")), [""; 0]);
    }
}
