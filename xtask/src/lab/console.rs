//! The last lines of a guest's console, for error messages.

use std::fs;
use std::path::Path;

const LINES: usize = 25;

/// The last lines of the file, without the terminal's control characters.
pub(super) fn tail(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let lines = last_lines(&String::from_utf8_lossy(&bytes));
    if lines.is_empty() { "(nothing)".to_owned() } else { lines }
}

fn last_lines(text: &str) -> String {
    let clean = text.lines().map(|line| line.replace(|c: char| c.is_control() && c != '\t', ""));
    let lines: Vec<_> = clean.filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::{LINES, last_lines};

    #[test]
    fn the_end_is_kept_and_cleaned() {
        let text: String = (0..100).map(|n| format!("line {n}\r\n\n")).collect();
        let lines = last_lines(&text);
        assert_eq!(lines.lines().count(), LINES);
        assert!(lines.ends_with("line 98\nline 99"), "{lines}");
        assert_eq!(last_lines("\x1bcKernel panic\x07"), "cKernel panic");
        assert_eq!(last_lines(""), "");
    }
}
