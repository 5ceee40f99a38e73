//! Splits a Rust file into code, comments and literals, without a parser: the other parts are blanked,
//! so that lines and columns stay the same.

use std::ops::Range;

/// What a stretch of a Rust file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// `text` with comments, strings and characters blanked.
pub(super) fn code(text: &str) -> String {
    only(text, Kind::Code)
}

/// `text` with all but its comments blanked.
pub(super) fn comments(text: &str) -> String {
    only(text, Kind::Comment)
}

/// The identifiers and keywords of `code`, with their byte ranges.
pub(super) fn identifiers(code: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + code[at..].find(is_part)?;
            let end = code[start..].find(|c| !is_part(c)).map_or(code.len(), |n| start + n);
            at = end;
            let word = &code[start..end];
            if !word.starts_with(|c: char| c.is_ascii_digit()) {
                return Some((start..end, word));
            }
        }
    })
}

/// The line, counted from 1, of the byte at `offset`.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}

fn only(text: &str, wanted: Kind) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_identifier = false;
    while !rest.is_empty() {
        let (kind, len) = next(rest, after_identifier);
        let (piece, tail) = rest.split_at(len);
        if kind == wanted {
            out.push_str(piece);
        } else {
            // As many bytes as before, so that ranges hold for the whole text as well.
            out.extend(piece.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        }
        after_identifier = piece.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        rest = tail;
    }
    out
}

/// What the non-empty `rest` begins with, and how many bytes of it.
fn next(rest: &str, after_identifier: bool) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    // The prefixes b, c, r, br and cr belong to a string unless they end an identifier.
    let prefix = if after_identifier {
        0
    } else {
        rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len()
    };
    let (prefix, body) = rest.split_at(if prefix <= 2 { prefix } else { 0 });
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        if body[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let start = prefix.len() + hashes + 1;
            let end = rest[start..].find(&close).map_or(rest.len(), |n| start + n + close.len());
            return (Kind::Literal, end);
        }
    } else if body.starts_with('"') {
        return (Kind::Literal, prefix.len() + quoted(body, '"'));
    } else if body.starts_with('\'') && is_character(body) {
        return (Kind::Literal, prefix.len() + quoted(body, '\''));
    }
    (Kind::Code, rest.chars().next().map_or(0, char::len_utf8))
}

/// The length of the block comment that `text` begins with; they nest.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the literal that `text` begins with, quotes included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// Whether the quote that `text` begins with opens a character rather than a lifetime.
fn is_character(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{code, comments, identifiers, line_of};

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    #[test]
    fn comments_and_literals_are_blanked_in_place() {
        let text = "let a = \"x // \\\" y\"; // b\n/* c /* d */ e */ f(b\"g\", r#\"h\"i\"#);";
        let seen = code(text);
        assert_eq!(seen.len(), text.len());
        assert_eq!(words(&seen), ["let", "a", "=", ";", "f(", ",", ");"]);
        assert_eq!(words(&comments(text)), ["//", "b", "/*", "c", "/*", "d", "*/", "e", "*/"]);
    }

    #[test]
    fn characters_are_literals_and_lifetimes_are_code() {
        assert_eq!(
            words(&code("x('\"', b'\\'', 'é') + y::<'a>(r)")),
            ["x(", ",", ",", ")", "+", "y::<'a>(r)"]
        );
        assert_eq!(words(&code("var\"s\" xbr\"t\" z")), ["var", "xbr", "z"]);
    }

    #[test]
    fn identifiers_have_places() {
        let text = "a_1 + 2b\nc";
        let seen: Vec<_> =
            identifiers(text).map(|(range, word)| (line_of(text, range.start), word)).collect();
        assert_eq!(seen, [(1, "a_1"), (2, "c")]);
    }
}
