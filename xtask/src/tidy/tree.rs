//! What checks see, and what they say about it.

use std::fmt;

use anyhow::{Context, Result};

use crate::repository;

/// The repository's text files.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

/// A text file, named by its path from the root with `/` between folders.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

/// A broken rule: where, and what to do about it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Problem {
    pub(super) path: String,
    /// Counted from 1; `None` for a rule about the file as a whole.
    pub(super) line: Option<usize>,
    pub(super) message: String,
}

impl Tree {
    pub(super) fn read() -> Result<Self> {
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

    pub(super) fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

impl File {
    /// Test data rather than prose or code: kept as it was captured or printed.
    pub(super) fn is_data(&self) -> bool {
        const DATA: &[&str] = &["tests/fixtures/", "tests/golden/", "tests/fuzz/corpus/"];
        DATA.iter().any(|folder| self.path.starts_with(folder)) || self.path.ends_with(".snap")
    }

    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { path: self.path.clone(), line: None, message: message.into() }
    }

    pub(super) fn problem_at(&self, line: usize, message: impl Into<String>) -> Problem {
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
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// What `check` says about a tree of one file, as printed.
#[cfg(test)]
pub(super) fn said(check: impl Fn(&Tree) -> Vec<Problem>, path: &str, text: &str) -> Vec<String> {
    let tree = Tree { files: vec![File { path: path.into(), text: text.into() }] };
    check(&tree).iter().map(Problem::to_string).collect()
}
