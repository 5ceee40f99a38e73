//! The one word that has four meanings here (of a ring, of NCCL's proxy, of training, of a Slurm job) never stands
//! alone in an identifier: mixing them is the likeliest wrong number railscope could publish.

use super::source::{code, identifiers, line_of};
use super::tree::{File, Problem, Tree};

/// What may stand before the word to say which one is meant.
const MEANINGS: &[&str] = &["ring", "proxy", "training", "slurm"];

/// The standard library's own names.
const STANDARD: &[&str] = &["step_by", "StepBy"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let code = code(&file.text);
    let found = identifiers(&code).filter(|(_, identifier)| is_bare(identifier));
    found
        .map(|(range, identifier)| {
            let fix = format!(
                "`{identifier}` is ambiguous: say `ring_step`, `proxy_step` or, for a training \
                 step, `iteration`"
            );
            file.problem_at(line_of(&code, range.start), fix)
        })
        .collect()
}

fn is_bare(identifier: &str) -> bool {
    if STANDARD.contains(&identifier) {
        return false;
    }
    let words = words(identifier);
    words.iter().enumerate().any(|(index, word)| {
        let has_meaning = index > 0 && MEANINGS.contains(&words[index - 1].as_str());
        matches!(word.as_str(), "step" | "steps") && !has_meaning
    })
}

/// The words of a `snake_case`, `CamelCase` or `SCREAMING_CASE` identifier, in lower case.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{check, is_bare};
    use crate::tidy::tree::said;

    #[test]
    fn the_word_needs_a_meaning() {
        for bare in
            ["step", "Steps", "step_count", "next_step", "NextStep", "STEP", "ringstep_step"]
        {
            assert!(is_bare(bare), "{bare}");
        }
        for clear in [
            "ring_step",
            "RingStep",
            "RING_STEPS",
            "proxy_step",
            "training_step",
            "step_by",
            "stepping",
        ] {
            assert!(!is_bare(clear), "{clear}");
        }
    }

    #[test]
    fn prose_is_free() {
        assert_eq!(said(check, "a.rs", "//! A training step.\nlet x = \"step\";"), [""; 0]);
        assert_eq!(said(check, "a.rs", "//! A.\nlet step = 1;").len(), 1);
    }
}
