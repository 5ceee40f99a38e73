//! Reads an expression, and asks it.

use std::net::IpAddr;
use std::ops::Range;

use super::error::FilterError;
use super::field::{self, Content, Field, FieldKind};
use super::literal::{self, Literal};
use super::token::{Comparison, Token, TokenKind, tokens};

/// Most nested parentheses and negations.
const DEPTH: usize = 100;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Test(&'static Field, Test),
}

/// What must hold for a value of the field.
#[derive(Clone, Debug)]
pub(super) enum Test {
    Holds,
    Compares(Comparison, Literal),
    /// One of several: each a value, or a range with both ends.
    In(Vec<(Literal, Literal)>),
}

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expression, FilterError> {
    let mut reader = Reader { text, tokens: tokens(text)?, at: 0, depth: 0 };
    let expression = reader.any()?;
    match reader.peek() {
        None => Ok(expression),
        Some(TokenKind::Close) => Err(reader.refuse("this parenthesis closes nothing")),
        Some(_) => Err(reader.refuse("join two tests by `and` or `or`")),
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<TokenKind<'a>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    /// Where the next word is; at the end of the text, behind it.
    fn place(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        self.tokens.get(self.at).map_or(end..end, |token| token.place.clone())
    }

    fn refuse(&self, what: impl Into<String>) -> FilterError {
        FilterError::new(self.text, self.place(), what)
    }

    fn takes(&mut self, kind: TokenKind<'_>) -> bool {
        let is_it = self.peek() == Some(kind);
        self.at += usize::from(is_it);
        is_it
    }

    fn any(&mut self) -> Result<Expression, FilterError> {
        let mut parts = vec![self.all()?];
        while self.takes(TokenKind::Or) {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
    }

    fn all(&mut self) -> Result<Expression, FilterError> {
        let mut parts = vec![self.one()?];
        while self.takes(TokenKind::And) {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
    }

    fn one(&mut self) -> Result<Expression, FilterError> {
        let begin = self.place();
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.refuse(format!("more than {DEPTH} nested parentheses or negations")));
        }
        let one = if self.takes(TokenKind::Not) {
            Expression::Not(Box::new(self.one()?))
        } else if self.takes(TokenKind::Open) {
            let inner = self.any()?;
            if !self.takes(TokenKind::Close) {
                return Err(FilterError::new(self.text, begin, "this parenthesis is not closed"));
            }
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(one)
    }

    fn test(&mut self) -> Result<Expression, FilterError> {
        let Some(TokenKind::Word(name)) = self.peek() else {
            let what = match self.peek() {
                None if self.at == 0 => "the filter is empty; write for example `nak`",
                None => "a test is missing at the end",
                Some(_) => "a field is missing here",
            };
            return Err(self.refuse(what));
        };
        let Some(field) = field::find(name) else {
            return Err(self.refuse(unknown(name)));
        };
        self.at += 1;
        if self.takes(TokenKind::In) {
            return Ok(Expression::Test(field, Test::In(self.set(field)?)));
        }
        let test = match self.peek() {
            Some(TokenKind::Comparison(comparison)) => {
                if matches!(field.kind, FieldKind::Address | FieldKind::Name)
                    && !matches!(comparison, Comparison::Equal | Comparison::Unequal)
                {
                    let name = field.name;
                    return Err(self.refuse(format!("`{name}` has no order; use ==, != or in")));
                }
                self.at += 1;
                let literal = self.literal(field)?;
                if self.peek() == Some(TokenKind::Range) {
                    return Err(self.refuse(format!("a range needs `in`: {} in 1..3", field.name)));
                }
                Test::Compares(comparison, literal)
            }
            _ if field.kind == FieldKind::Flag => Test::Holds,
            _ => {
                let what = format!("compare `{}` with something: {}", field.name, field.example());
                return Err(self.refuse(what));
            }
        };
        Ok(Expression::Test(field, test))
    }

    fn literal(&mut self, field: &Field) -> Result<Literal, FilterError> {
        let text = match self.peek() {
            Some(TokenKind::Word(text)) => text,
            Some(TokenKind::OpenSet) => {
                return Err(self.refuse(format!("a set needs `in`: {} in {{1, 2}}", field.name)));
            }
            Some(TokenKind::Open) => return Err(self.refuse("a set is in braces: {1, 2}")),
            _ => return Err(self.refuse(format!("a value is missing: {}", field.example()))),
        };
        let literal = literal::read(field, text).map_err(|what| self.refuse(what))?;
        self.at += 1;
        Ok(literal)
    }

    /// `{1, 2}`, `1..2`, or one value.
    fn set(&mut self, field: &Field) -> Result<Vec<(Literal, Literal)>, FilterError> {
        let begin = self.place();
        if !self.takes(TokenKind::OpenSet) {
            return Ok(vec![self.range(field)?]);
        }
        let mut parts = vec![self.range(field)?];
        while self.takes(TokenKind::Comma) {
            parts.push(self.range(field)?);
        }
        if !self.takes(TokenKind::CloseSet) {
            return Err(FilterError::new(self.text, begin, "this set is not closed by `}`"));
        }
        Ok(parts)
    }

    fn range(&mut self, field: &Field) -> Result<(Literal, Literal), FilterError> {
        let begin = self.place();
        let first = self.literal(field)?;
        if self.peek() != Some(TokenKind::Range) {
            return Ok((first.clone(), first));
        }
        if !matches!(field.kind, FieldKind::Number | FieldKind::Time) {
            return Err(self.refuse(format!("`{}` has no order, so there is no range", field.name)));
        }
        self.at += 1;
        let end = self.place().end;
        let last = self.literal(field)?;
        match (&first, &last) {
            (Literal::Number(low), Literal::Number(high)) if low > high => {
                let what = "this range is empty: the smaller value comes first";
                Err(FilterError::new(self.text, begin.start..end, what))
            }
            _ => Ok((first, last)),
        }
    }
}

fn unknown(name: &str) -> String {
    let what = format!("there is no field `{name}`");
    match field::meant(name) {
        Some(meant) => format!("{what}; did you mean {meant}?"),
        None => format!("{what}; `railscope packets --help` lists all"),
    }
}

impl Expression {
    /// The fields that it asks for.
    pub(super) fn fields(&self) -> Box<dyn Iterator<Item = &'static Field> + '_> {
        match self {
            Self::All(parts) | Self::Any(parts) => Box::new(parts.iter().flat_map(Self::fields)),
            Self::Not(part) => part.fields(),
            Self::Test(field, _) => Box::new(std::iter::once(*field)),
        }
    }

    /// Whether it holds for what has the fields that `read` reads.
    pub(super) fn holds(&self, read: &dyn Fn(&'static Field) -> Content) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(read)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(read)),
            Self::Not(part) => !part.holds(read),
            Self::Test(field, test) => test.holds(&read(field)),
        }
    }
}

impl Test {
    fn holds(&self, content: &Content) -> bool {
        match self {
            Self::Holds => *content == Content::Flag(true),
            Self::Compares(Comparison::Unequal, literal) => !has(content, literal, literal),
            Self::Compares(comparison, literal) => compares(content, *comparison, literal),
            Self::In(parts) => parts.iter().any(|(low, high)| has(content, low, high)),
        }
    }
}

/// Whether a value is between these, or at one.
fn has(content: &Content, low: &Literal, high: &Literal) -> bool {
    match (content, low, high) {
        (Content::Numbers(values), Literal::Number(low), Literal::Number(high)) => {
            values.iter().flatten().any(|value| (low..=high).contains(&value))
        }
        (Content::Addresses(values), Literal::Prefix(prefix, bits), _) => {
            values.iter().flatten().any(|value| is_in(*value, *prefix, *bits))
        }
        (Content::Name(Some(name)), Literal::Name(wanted), _) => name.eq_ignore_ascii_case(wanted),
        _ => false,
    }
}

fn compares(content: &Content, comparison: Comparison, literal: &Literal) -> bool {
    let (Content::Numbers(values), Literal::Number(wanted)) = (content, literal) else {
        return has(content, literal, literal);
    };
    let holds = |value: &i128| match comparison {
        Comparison::Equal => value == wanted,
        Comparison::Unequal => value != wanted,
        Comparison::Less => value < wanted,
        Comparison::AtMost => value <= wanted,
        Comparison::More => value > wanted,
        Comparison::AtLeast => value >= wanted,
    };
    values.iter().flatten().any(holds)
}

/// Whether the first `bits` of both addresses are the same.
fn is_in(address: IpAddr, prefix: IpAddr, bits: u8) -> bool {
    let differing = |one: u128, other: u128, width: u8| {
        let shift = u32::from(width.saturating_sub(bits));
        (one ^ other).checked_shr(shift).unwrap_or(0)
    };
    match (address, prefix) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            differing(one.to_bits().into(), other.to_bits().into(), 32) == 0
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => differing(one.to_bits(), other.to_bits(), 128) == 0,
        _ => false,
    }
}
