//! Nothing unfinished is left behind: no stub macros, and every reminder says what removes it.

use super::source::{code, comments, identifiers, line_of};
use super::{File, Problem, Tree, numbered};

const STUBS: &[&str] = &["todo", "unimplemented", "dbg"];
const REMINDER: &str = "TODO";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let code = code(&file.text);
    let stubs = identifiers(&code)
        .filter(|(range, word)| STUBS.contains(word) && code[range.end..].starts_with('!'))
        .map(|(range, word)| {
            file.problem_at(line_of(&code, range.start), format!("finish it: no `{word}!`"))
        });
    let comments = comments(&file.text);
    let reminders = numbered(&comments)
        .filter(|(_, text)| text.contains(REMINDER) && !text.contains("until"))
        .map(|(line, _)| {
            let fix =
                "do it now, say `FIXME` and what is wrong, or `until` which condition it stays";
            file.problem_at(line, fix)
        });
    stubs.chain(reminders).collect()
}

#[cfg(test)]
mod tests {
    use super::{REMINDER, check};
    use crate::tidy::tests::said;

    #[test]
    fn stubs_are_refused() {
        assert_eq!(said(check, "a.rs", "fn f() { todo!() }\nfn g() { dbg!(1); }").len(), 2);
        assert_eq!(said(check, "a.rs", "// todo!()\nlet todo = 1 != 2;"), [""; 0]);
    }

    #[test]
    fn a_reminder_names_its_end() {
        assert_eq!(said(check, "a.rs", &format!("// {REMINDER}: later")).len(), 1);
        assert_eq!(said(check, "a.rs", &format!("// {REMINDER} until Rust 1.98: use x.")), [""; 0]);
    }
}
