//! Plain-text checks of rules that compilers do not check; also a test, so `cargo test` runs them.
//!
//! One file per check. A check sees the whole [`Tree`] and returns [`Problem`]s, each with a message
//! that names the fix.

mod agent_sources;
mod documents;
mod heads;
mod layers;
mod leftovers;
mod length;
mod machine;
mod manifests;
mod names;
mod sentences;
mod source;
mod tree;
mod unsafety;
mod vocabulary;
mod whitespace;

use std::process::ExitCode;

use anyhow::Result;

use tree::{Problem, Tree};

/// Every check.
const CHECKS: &[fn(&Tree) -> Vec<Problem>] = &[
    layers::check,
    unsafety::check,
    heads::check,
    names::check,
    sentences::check,
    vocabulary::check,
    whitespace::check,
    length::check,
    leftovers::check,
    manifests::check,
    machine::check,
    documents::check,
    agent_sources::check,
];

/// All problems of all checks, in the order of the files.
fn problems(tree: &Tree) -> Vec<Problem> {
    let mut problems: Vec<_> = CHECKS.iter().flat_map(|check| check(tree)).collect();
    problems.sort();
    problems
}

/// `cargo xtask tidy`.
pub(crate) fn run() -> Result<ExitCode> {
    let problems = problems(&Tree::read()?);
    for problem in &problems {
        eprintln!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::{Problem, Tree, problems};

    #[test]
    fn the_repository_is_tidy() {
        let problems = problems(&Tree::read().unwrap());
        let lines: Vec<_> = problems.iter().map(Problem::to_string).collect();
        assert!(lines.is_empty(), "{} problems:\n{}", lines.len(), lines.join("\n"));
    }
}
