//! Reads a TOML table key by key. Problems are collected, so that all are reported at once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::setting::{Quantity, Setting};
use super::values::Values;

/// Location of a problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Location {
    /// A line of the file, from 1.
    Line(usize),
    /// A flag or a variable, by its name.
    Given(String),
}

/// A mistake, and the correct form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Line of the file, or the flag or variable.
    pub place: Location,
    /// Description.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Location::Line(line) => write!(f, "line {line}: {}", self.message),
            Location::Given(name) => write!(f, "{name}: {}", self.message),
        }
    }
}

/// A value from a flag or variable, which overrides the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The flag or variable, as the user knows it.
    pub name: String,
    /// The key, such as `prometheus.listen`.
    pub key: String,
    /// The value as TOML; if it is not valid TOML for its key, it is read as text.
    pub value: String,
}

/// The unread part of the file.
pub(super) struct Reader<'a> {
    text: &'a str,
    /// Where lines begin.
    lines: Vec<usize>,
    table: DeTable<'a>,
    overrides: BTreeMap<&'a str, &'a Override>,
    values: Values,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    /// The last of several overrides of one key wins.
    pub(super) fn new(text: &'a str, overrides: &'a [Override]) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        let overrides = overrides.iter().map(|one| (one.key.as_str(), one)).collect();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        let (table, values, problems) = (table.into_inner(), Values::default(), Vec::new());
        let mut reader = Self { text, lines, table, overrides, values, problems };
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            reader.add(&span, error.message().to_owned());
        }
        reader
    }

    /// Takes the section called `name`; keys that `read` leaves in it are reported as unknown.
    pub(super) fn section(&mut self, name: &'static str, read: impl FnOnce(&mut Section<'_, 'a>)) {
        let table = match self.take(name) {
            None => DeTable::default(),
            Some(value) => match value.as_ref() {
                DeValue::Table(_) => into_table(value.into_inner()),
                _ => {
                    self.add(
                        &value.span(),
                        format!("`{name}` is a section, not a value: write [{name}]"),
                    );
                    return;
                }
            },
        };
        let mut section = Section { name, table, known: Vec::new(), reader: self };
        read(&mut section);
        section.finish();
    }

    /// Takes a whole table, without checking its keys.
    pub(super) fn take(&mut self, name: &str) -> Option<Spanned<DeValue<'a>>> {
        let key = self.table.keys().find(|key| key.get_ref() == name)?.clone();
        self.table.remove(&key)
    }

    /// Takes the overrides of all keys of a section.
    pub(super) fn take_overrides(&mut self, section: &str) -> Vec<&'a Override> {
        let is_own =
            |key: &str| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        let (own, others) =
            std::mem::take(&mut self.overrides).into_iter().partition(|(key, _)| is_own(key));
        self.overrides = others;
        let own: BTreeMap<&str, &'a Override> = own;
        own.into_values().collect()
    }

    pub(super) fn add_given(&mut self, given: &Override, message: String) {
        self.problems.push(Problem { place: Location::Given(given.name.clone()), message });
    }

    pub(super) fn add(&mut self, span: &Range<usize>, message: String) {
        let line = self.lines.partition_point(|begin| *begin <= span.start);
        self.problems.push(Problem { place: Location::Line(line), message });
    }

    /// Notes the value of a key.
    pub(super) fn note(&mut self, key: String, value: &impl fmt::Debug) {
        self.values.note(key, value);
    }

    /// The values that were read.
    pub(super) fn take_values(&mut self) -> Values {
        std::mem::take(&mut self.values)
    }

    /// All problems in the order of lines, including unknown sections and overrides.
    pub(super) fn finish(mut self, sections: &[&str]) -> Vec<Problem> {
        let list = sections.iter().map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
        for (key, value) in std::mem::take(&mut self.table) {
            let message = match value.get_ref() {
                DeValue::Table(_) => {
                    format!("unknown section [{}]; allowed are {list}", key.get_ref())
                }
                _ => format!("`{}` is outside of any section; allowed are {list}", key.get_ref()),
            };
            self.add(&key.span(), message);
        }
        for one in std::mem::take(&mut self.overrides).into_values() {
            let section = one.key.split('.').next().unwrap_or_default();
            let message = match sections.contains(&section) {
                true => format!("unknown key `{}`", one.key),
                false => format!("unknown key `{}`; sections are {list}", one.key),
            };
            self.add_given(one, message);
        }
        self.problems.sort();
        self.problems
    }
}

/// One section of the file.
pub(super) struct Section<'r, 'a> {
    name: &'static str,
    table: DeTable<'a>,
    known: Vec<&'static str>,
    reader: &'r mut Reader<'a>,
}

impl Section<'_, '_> {
    /// Takes a key, if it is there.
    pub(super) fn key<T: Setting>(&mut self, name: &'static str, into: &mut T) {
        self.checked(name, into, T::WANTED, |_| true);
    }

    /// Takes a key whose value must be in this range.
    pub(super) fn within<T: Quantity>(
        &mut self,
        name: &'static str,
        into: &mut T,
        range: RangeInclusive<T>,
    ) {
        let (least, most) = (range.start().written(), range.end().written());
        let wanted = format!("{}, from {least} to {most}", T::WANTED);
        self.checked(name, into, &wanted, |value| range.contains(value));
    }

    /// Takes a key whose value must pass `is_right`.
    pub(super) fn checked<T: Setting>(
        &mut self,
        name: &'static str,
        into: &mut T,
        wanted: &str,
        is_right: impl Fn(&T) -> bool,
    ) {
        self.known.push(name);
        let path = format!("{}.{name}", self.name);
        let read = |value: &DeValue<'_>| T::read(value).filter(|value| is_right(value));
        let of_file = self.table.keys().find(|key| key.get_ref() == name).cloned();
        let of_file = of_file.and_then(|key| self.table.remove(&key));
        if let Some(value) = of_file {
            match read(value.get_ref()) {
                Some(value) => *into = value,
                None => {
                    let found = self.reader.text.get(value.span()).unwrap_or_default().trim();
                    let message = format!("{path} = {found} is not valid: write {wanted}");
                    self.reader.add(&value.span(), message);
                }
            }
        }
        if let Some(given) = self.reader.overrides.remove(path.as_str()) {
            let as_toml = DeValue::parse(&given.value).ok().and_then(|value| read(value.get_ref()));
            let as_text = || read(&DeValue::String(Cow::Borrowed(&given.value)));
            match as_toml.or_else(as_text) {
                Some(value) => *into = value,
                None => {
                    let value = &given.value;
                    let message = format!("`{value}` is not valid for {path}: write {wanted}");
                    self.reader.add_given(given, message);
                }
            }
        }
        self.reader.note(path, into);
    }

    /// Refuses a key that needs a feature which this build lacks.
    pub(super) fn not_built(&mut self, name: &'static str, feature: &'static str) {
        self.known.push(name);
        let path = format!("{}.{name}", self.name);
        let message = format!(
            "{path} needs the feature `{feature}`, and this railscope was built without it"
        );
        if let Some(key) = self.table.keys().find(|key| key.get_ref() == name).cloned() {
            self.table.remove(&key);
            self.reader.add(&key.span(), message.clone());
        }
        if let Some(given) = self.reader.overrides.remove(path.as_str()) {
            self.reader.add_given(given, message);
        }
    }

    fn finish(self) {
        let Self { name, table, known, reader } = self;
        for (key, _) in table {
            let known = known.join(", ");
            let message = format!("[{name}] has no key `{}`; allowed are {known}", key.get_ref());
            reader.add(&key.span(), message);
        }
    }
}

pub(super) fn into_table(value: DeValue<'_>) -> DeTable<'_> {
    match value {
        DeValue::Table(table) => table,
        _ => DeTable::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_feature_that_is_not_built_are_refused_wherever_they_stand() {
        let given = Override {
            name: "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
            key: "otlp.endpoint".to_owned(),
            value: "http://otel:4317".to_owned(),
        };
        let problems = |text: &str, overrides: &[Override]| -> Vec<String> {
            let mut reader = Reader::new(text, overrides);
            reader.section("otlp", |section| section.not_built("endpoint", "otlp"));
            reader.finish(&["otlp"]).iter().map(ToString::to_string).collect()
        };
        let why = "otlp.endpoint needs the feature `otlp`, and this railscope was built without it";
        let text = "[otlp]\nendpoint = \"http://otel:4317\"\n";
        let expected = [format!("line 2: {why}"), format!("OTEL_EXPORTER_OTLP_ENDPOINT: {why}")];
        assert_eq!(problems(text, &[given]), expected);
        assert!(problems("[otlp]\n", &[]).is_empty());
    }
}
