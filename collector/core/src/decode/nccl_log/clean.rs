//! A line as text: without colours, control characters and invalid UTF-8.

use std::borrow::Cow;

/// The text of a line without its end, colours (ECMA-48 escape sequences) and control characters.
/// Invalid UTF-8 becomes replacement characters. Borrows if there is nothing to remove.
#[must_use]
pub fn clean(line: &[u8]) -> Cow<'_, str> {
    let line = line.trim_ascii_end();
    let text = String::from_utf8_lossy(line);
    if !has_control(text.as_bytes()) {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            // Progress bars return to the start of the line: what follows is another word.
            c if c.is_control() => kept.push(' '),
            c => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// Whether a line has control characters that [`clean`] replaces.
#[must_use]
pub fn has_control(line: &[u8]) -> bool {
    // Without a branch, so that it is done for many bytes at a time.
    let is_control = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
    line.iter().fold(false, |known, byte| known | is_control(byte))
}

/// Skips the rest of an escape sequence: `[`, parameters, a letter; or one character.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    if rest.next() == Some('[') {
        rest.find(|c| matches!(c, '@'..='~'));
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn colours_and_bad_bytes_go() {
        assert_eq!(clean(b"plain\r\n"), "plain");
        assert_eq!(clean(b"\x1b[36m(Worker)\x1b[0m host"), "(Worker) host");
        assert_eq!(clean(b" 50%|##\rhost:1:1"), " 50%|## host:1:1");
        assert_eq!(clean(b"a\xffb\x1b["), "a\u{fffd}b");
    }
}
