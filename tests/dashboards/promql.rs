//! The metrics and labels that a PromQL expression names.

use std::collections::BTreeSet;

/// What an expression names.
#[derive(Debug, Default)]
pub struct Names {
    pub selectors: Vec<Selector>,
    /// Labels in `by (...)`, `on (...)` and the like, and sources of `label_replace`.
    pub listed: BTreeSet<String>,
    /// Labels that the expression makes.
    pub made: BTreeSet<String>,
}

/// A metric with the labels that it is chosen by.
#[derive(Debug)]
pub struct Selector {
    pub metric: String,
    pub labels: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const OPERATORS: [&str; 6] = ["and", "or", "unless", "bool", "offset", "atan2"];

/// Splits it; durations and numbers are left out.
fn tokens(expression: &str) -> Vec<Token> {
    let mut all = Vec::new();
    let mut rest = expression.chars().peekable();
    while let Some(first) = rest.next() {
        match first {
            '"' => {
                let mut text = String::new();
                while let Some(next) = rest.next() {
                    match next {
                        '"' => break,
                        '\\' => text.extend(rest.next()),
                        other => text.push(other),
                    }
                }
                all.push(Token::Text(text));
            }
            // A range.
            '[' => while rest.next_if(|next| *next != ']').is_some() {},
            _ if first.is_ascii_alphanumeric() || "_:$.".contains(first) => {
                let mut word = String::from(first);
                while let Some(next) =
                    rest.next_if(|next| next.is_ascii_alphanumeric() || "_:$.".contains(*next))
                {
                    word.push(next);
                }
                if !word.starts_with(|c: char| c.is_ascii_digit() || "$.".contains(c)) {
                    all.push(Token::Word(word));
                }
            }
            _ if first.is_whitespace() => {}
            sign => all.push(Token::Sign(sign)),
        }
    }
    all
}

/// What `expression` names.
pub fn names(expression: &str) -> Names {
    let tokens = tokens(expression);
    let mut names = Names::default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Word(word) if LISTS.contains(&word.as_str()) => {
                if tokens.get(at) == Some(&Token::Sign('(')) {
                    let list = tokens[at..].iter().take_while(|one| **one != Token::Sign(')'));
                    names.listed.extend(list.filter_map(|one| match one {
                        Token::Word(label) => Some(label.clone()),
                        _ => None,
                    }));
                    at += tokens[at..].iter().position(|one| *one == Token::Sign(')')).unwrap();
                }
            }
            Token::Word(word) if OPERATORS.contains(&word.as_str()) => {}
            Token::Word(word) => match tokens.get(at) {
                Some(Token::Sign('(')) => add_made(word, &tokens[at..], &mut names),
                Some(Token::Word(next)) if LISTS.contains(&next.as_str()) => {
                    // An aggregation with its labels first; `count_values by (a) ("b", ...)`.
                    if word == "count_values" {
                        let end = tokens[at..].iter().position(|one| *one == Token::Sign(')'));
                        add_made(word, &tokens[at + end.unwrap() + 1..], &mut names);
                    }
                }
                Some(Token::Sign('{')) => {
                    let labels = labels(&tokens[at..]);
                    names.selectors.push(Selector { metric: word.clone(), labels });
                    at += end_of_braces(&tokens[at..]);
                }
                _ => {
                    names.selectors.push(Selector { metric: word.clone(), labels: Vec::new() });
                }
            },
            // A selector without a name of its own.
            Token::Sign('{') => {
                let mut labels = labels(&tokens[at - 1..]);
                labels.retain(|label| label != "__name__");
                let end = end_of_braces(&tokens[at - 1..]);
                for metric in of_name_pattern(&tokens[at - 1..at - 1 + end]) {
                    names.selectors.push(Selector { metric, labels: labels.clone() });
                }
                at += end - 1;
            }
            Token::Text(_) | Token::Sign(_) => {}
        }
    }
    names
}

fn end_of_braces(tokens: &[Token]) -> usize {
    tokens.iter().position(|one| *one == Token::Sign('}')).unwrap() + 1
}

/// The labels between braces: words before a sign of comparison.
fn labels(tokens: &[Token]) -> Vec<String> {
    let inside = &tokens[..end_of_braces(tokens)];
    let pairs = inside.windows(2).filter_map(|pair| match pair {
        [Token::Word(label), Token::Sign('=' | '!')] => Some(label.clone()),
        _ => None,
    });
    pairs.collect()
}

/// The names that `__name__=~"a_(b|c)_d"` stands for.
fn of_name_pattern(tokens: &[Token]) -> Vec<String> {
    let at = tokens.iter().position(|one| *one == Token::Word("__name__".to_owned())).unwrap();
    let pattern = tokens[at..].iter().find_map(|one| match one {
        Token::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let (head, rest) = pattern.unwrap().split_once('(').unwrap();
    let (choices, tail) = rest.split_once(')').unwrap();
    choices.split('|').map(|choice| format!("{head}{choice}{tail}")).collect()
}

/// Labels that `label_replace` and `count_values` make and read; `tokens` begin at the parenthesis.
fn add_made(function: &str, tokens: &[Token], names: &mut Names) {
    let texts = || direct_texts(tokens);
    match function {
        // label_replace(v, made, replacement, source, pattern)
        "label_replace" => {
            let texts = texts();
            names.made.extend(texts.first().cloned());
            names.listed.extend(texts.get(2).filter(|source| !source.is_empty()).cloned());
        }
        "count_values" => names.made.extend(texts().first().cloned()),
        _ => {}
    }
}

/// The texts that are arguments of a call themselves.
fn direct_texts(tokens: &[Token]) -> Vec<String> {
    let mut depth = 0;
    let mut texts = Vec::new();
    for token in tokens {
        match token {
            Token::Sign('(' | '{') => depth += 1,
            Token::Sign(')' | '}') if depth == 1 => break,
            Token::Sign(')' | '}') => depth -= 1,
            Token::Text(text) if depth == 1 => texts.push(text.clone()),
            _ => {}
        }
    }
    texts
}

#[test]
fn names_are_found_in_expressions() {
    let found = names(
        "topk(3, label_replace(count_values by (a) (\"b\", m1{c=~\"x|y\", d!=\"{\"}), \"e\", \"$1\", \
         \"b\", \"(.*)\")) / on (f) group_left () (sum without (g) (rate(m:2[5m] offset 1m)) > bool 1e3) \
         or {__name__=~\"m_(3|4)\", h=\"\"}",
    );
    let selectors: Vec<_> =
        found.selectors.iter().map(|one| (one.metric.as_str(), one.labels.join(" "))).collect();
    let expected = [("m1", "c d"), ("m:2", ""), ("m_3", "h"), ("m_4", "h")];
    assert_eq!(selectors, expected.map(|(metric, labels)| (metric, labels.to_owned())));
    let all = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!((all(&found.listed), all(&found.made)), ("a b f g".to_owned(), "b e".to_owned()));
}
