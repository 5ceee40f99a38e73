//! The words of a filter.

use std::ops::Range;

use super::error::FilterError;

/// One word, and where it is in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) place: Range<usize>,
}

/// The kinds of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// A field, a number, an address, a time, a name.
    Word(&'a str),
    And,
    Or,
    Not,
    In,
    Comparison(Comparison),
    Open,
    Close,
    OpenSet,
    CloseSet,
    Comma,
    /// `..`
    Range,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Signs, the longer ones first.
const SIGNS: [(&str, TokenKind<'static>); 15] = [
    ("==", TokenKind::Comparison(Comparison::Equal)),
    ("!=", TokenKind::Comparison(Comparison::Unequal)),
    ("<=", TokenKind::Comparison(Comparison::AtMost)),
    (">=", TokenKind::Comparison(Comparison::AtLeast)),
    ("&&", TokenKind::And),
    ("||", TokenKind::Or),
    ("..", TokenKind::Range),
    ("<", TokenKind::Comparison(Comparison::Less)),
    (">", TokenKind::Comparison(Comparison::More)),
    ("!", TokenKind::Not),
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
    ("{", TokenKind::OpenSet),
    ("}", TokenKind::CloseSet),
    (",", TokenKind::Comma),
];

/// Splits a text into words.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, FilterError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let sign = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (len, kind) = match sign {
            Some((sign, kind)) => (sign.len(), *kind),
            None => match word_len(rest) {
                0 => return Err(unexpected(text, at, first)),
                len => (len, word(&rest[..len])),
            },
        };
        tokens.push(Token { kind, place: at..at + len });
        at += len;
    }
    Ok(tokens)
}

/// Letters, digits and what is within addresses, prefixes and times. Two dots are a range.
fn word_len(rest: &str) -> usize {
    let belongs = |c: char| c.is_alphanumeric() || "._:/-%µ".contains(c);
    let end = rest.find(|c: char| !belongs(c)).unwrap_or(rest.len());
    rest[..end].find("..").unwrap_or(end)
}

fn word(text: &str) -> TokenKind<'_> {
    match text.to_ascii_lowercase().as_str() {
        "and" => TokenKind::And,
        "or" => TokenKind::Or,
        "not" => TokenKind::Not,
        "in" => TokenKind::In,
        _ => TokenKind::Word(text),
    }
}

fn unexpected(text: &str, at: usize, found: char) -> FilterError {
    let hint = match found {
        '=' => "; compare with ==",
        '&' => "; write && or and",
        '|' => "; write || or or",
        '"' | '\'' => "; names are written without quotes",
        '[' | ']' => "; a set is in braces: {1, 2}, a range is 1..2",
        _ => "",
    };
    FilterError::new(
        text,
        at..at + found.len_utf8(),
        format!("`{found}` is not expected here{hint}"),
    )
}
