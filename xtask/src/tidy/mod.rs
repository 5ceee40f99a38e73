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
mod unsafety;
mod vocabulary;
mod whitespace;

use std::fmt;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::repository;

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

/// The repository's text files.
struct Tree {
    files: Vec<File>,
}

/// A text file, named by its path from the root with `/` between folders.
struct File {
    path: String,
    text: String,
}

/// A broken rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    path: String,
    /// Counted from 1; `None` for a rule about the file as a whole.
    line: Option<usize>,
    message: String,
}

impl Tree {
    fn read() -> Result<Self> {
        let mut files = Vec::new();
        for path in repository::files()? {
            let bytes = std::fs::read(repository::root().join(&path))
                .with_context(|| format!("read {}", path.display()))?;
            // What is not UTF-8 (captures, objects) is data: no check reads it.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path: path.to_string_lossy().replace('\\', "/"), text });
            }
        }
        Ok(Self { files })
    }

    fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// All problems of all checks, in the order of the files.
    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<_> = CHECKS.iter().flat_map(|check| check(self)).collect();
        problems.sort();
        problems
    }
}

impl File {
    /// Test data rather than prose or code: kept as it was captured or printed.
    fn is_data(&self) -> bool {
        const DATA: &[&str] = &["tests/fixtures/", "tests/golden/", "tests/fuzz/corpus/"];
        DATA.iter().any(|folder| self.path.starts_with(folder)) || self.path.ends_with(".snap")
    }

    fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line: None, message: message.into() }
    }

    fn problem_at(&self, line: usize, message: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Lines with their numbers, counted from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// `cargo xtask tidy`.
pub(crate) fn run() -> Result<ExitCode> {
    let problems = Tree::read()?.problems();
    for problem in &problems {
        eprintln!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::{File, Problem, Tree};

    /// What `check` says about a tree of one file, as printed.
    pub(super) fn said(
        check: impl Fn(&Tree) -> Vec<Problem>,
        path: &str,
        text: &str,
    ) -> Vec<String> {
        let tree = Tree { files: vec![File { path: path.into(), text: text.into() }] };
        check(&tree).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn the_repository_is_tidy() {
        let problems = Tree::read().unwrap().problems();
        let lines: Vec<_> = problems.iter().map(Problem::to_string).collect();
        assert!(lines.is_empty(), "{} problems:\n{}", lines.len(), lines.join("\n"));
    }
}
