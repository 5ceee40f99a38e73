//! Analysis finds values; the report makes sentences of them.

use super::source::{code, identifiers, line_of};
use super::tree::{File, Problem, Tree};

const WORDLESS: &str = "collector/core/src/analysis/";
const MACROS: &[&str] = &["format", "write", "writeln"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files().filter(|file| file.path.starts_with(WORDLESS)).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let code = code(&file.text);
    let found = identifiers(&code)
        .filter(|(range, word)| MACROS.contains(word) && code[range.end..].starts_with('!'));
    found
        .map(|(range, word)| {
            let fix = format!("hand out values, and say them in `report/words`: no `{word}!`");
            file.problem_at(line_of(&code, range.start), fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::said;

    #[test]
    fn only_analysis_has_no_words() {
        let text = "fn f() { format!(\"{}\", 1) }";
        assert_eq!(said(check, "collector/core/src/analysis/phase.rs", text).len(), 1);
        assert_eq!(said(check, "collector/core/src/report/words/name.rs", text), [""; 0]);
    }

    #[test]
    fn what_formats_nothing_is_no_matter() {
        let text = "// format!()\nlet format = write != 1;";
        assert_eq!(said(check, "collector/core/src/analysis/phase.rs", text), [""; 0]);
    }
}
