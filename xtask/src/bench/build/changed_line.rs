//! One line of the text output, changed again and again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The folder of the text output.
const FOLDER: &str = "collector/src/export/text";

/// The literal that is changed: a heading that every revision has.
const LITERAL: &str = "\"Not seen, or not certain\"";

/// A file with the literal.
pub(super) struct ChangedLine {
    path: PathBuf,
    original: String,
    changes: usize,
}

impl ChangedLine {
    /// Looks for the literal in `tree`.
    pub(super) fn find(tree: PathBuf) -> Result<Self> {
        let found = search(&tree.join(FOLDER))?;
        let (path, original) = found.with_context(|| format!("{FOLDER} has no {LITERAL}"))?;
        Ok(Self { path, original, changes: 0 })
    }

    /// Changes the literal to a new one.
    pub(super) fn change(&mut self) -> Result<()> {
        self.changes += 1;
        let text = changed(&self.original, self.changes);
        fs::write(&self.path, text).with_context(|| format!("write {}", self.path.display()))
    }
}

fn changed(text: &str, change: usize) -> String {
    let literal = LITERAL.trim_matches('"');
    text.replacen(LITERAL, &format!("\"{literal} ({change})\""), 1)
}

/// The first file with the literal, and its text.
fn search(folder: &Path) -> Result<Option<(PathBuf, String)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let found = if path.is_dir() {
            search(&path)?
        } else {
            let text = fs::read_to_string(&path).unwrap_or_default();
            text.contains(LITERAL).then_some((path, text))
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{FOLDER, changed, search};
    use crate::repository::root;

    #[test]
    fn the_text_output_has_the_line_and_each_change_differs() {
        let (_, text) = search(&root().join(FOLDER)).unwrap().unwrap();
        let (one, two) = (changed(&text, 1), changed(&text, 2));
        assert!(one != text && two != text && one != two);
        assert_eq!(one.lines().count(), text.lines().count());
    }
}
