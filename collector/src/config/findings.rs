//! `[findings]` and `[expect]`: the analysis' own type reads each key alone, so that one mistake hides no
//! other.

use std::borrow::Cow;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::reader::{Override, Reader, into_table};
use railscope_core::analysis::finding::settings::Settings;

const SECTIONS: [&str; 2] = ["findings", "expect"];

pub(super) fn read<'a, 'n>(
    reader: &mut Reader<'a>,
    settings: &mut Settings,
    known: impl Iterator<Item = &'n str> + Clone,
) {
    let mut right = DeTable::default();
    for name in SECTIONS {
        let mut keys = DeTable::default();
        if let Some(section) = reader.take(name) {
            of_file(reader, name, section, known.clone(), &mut keys);
        }
        for given in reader.take_overrides(name) {
            of_override(reader, name, given, known.clone(), &mut keys);
        }
        right.insert(plain(name), Spanned::new(0..0, DeValue::Table(keys)));
    }
    // Each key has been read alone, so all of them together can be read.
    if let Ok(read) = settings_of(right) {
        *settings = read;
    }
}

/// Takes the right keys of a section of the file.
fn of_file<'a, 'n>(
    reader: &mut Reader<'a>,
    name: &'static str,
    section: Spanned<DeValue<'a>>,
    known: impl Iterator<Item = &'n str> + Clone,
    keys: &mut DeTable<'a>,
) {
    if !section.as_ref().is_table() {
        let problem = format!("`{name}` is a section, not a value: write [{name}]");
        reader.add(&section.span(), problem);
        return;
    }
    for (key, value) in into_table(section.into_inner()) {
        match problem(name, &key, &value, known.clone()) {
            Some(Wrong::Key(problem)) => reader.add(&key.span(), problem),
            Some(Wrong::Value(problem)) => reader.add(&value.span(), problem),
            None => {
                keys.insert(key, value);
            }
        }
    }
}

/// Takes a flag, if it is right: it overrides the file.
fn of_override<'a, 'n>(
    reader: &mut Reader<'a>,
    name: &'static str,
    given: &'a Override,
    known: impl Iterator<Item = &'n str> + Clone,
    keys: &mut DeTable<'a>,
) {
    let key = plain(given.key.strip_prefix(name).unwrap_or_default().trim_start_matches('.'));
    let as_toml = DeValue::parse(&given.value).ok();
    let as_text = || Spanned::new(0..0, DeValue::String(given.value.as_str().into()));
    let texts = as_toml.is_some().then(as_text);
    let value = as_toml.unwrap_or_else(as_text);
    let Some(wrong) = problem(name, &key, &value, known.clone()) else {
        keys.insert(key, value);
        return;
    };
    // A text such as 10.0.0.0/8 or eth0 needs no quotes, though it may be TOML of another type.
    let texts = texts.filter(|text| problem(name, &key, text, known).is_none());
    match (texts, wrong) {
        (Some(text), _) => {
            keys.insert(key, text);
        }
        (None, Wrong::Key(problem) | Wrong::Value(problem)) => reader.add_given(given, problem),
    }
}

/// What is wrong.
enum Wrong {
    Key(String),
    Value(String),
}

/// What is wrong with a key and its value, read alone.
fn problem<'n>(
    name: &'static str,
    key: &Spanned<Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    known: impl Iterator<Item = &'n str>,
) -> Option<Wrong> {
    let section = DeTable::from_iter([(key.clone(), value.clone())]);
    let section = Spanned::new(0..0, DeValue::Table(section));
    match settings_of(DeTable::from_iter([(plain(name), section)])) {
        Ok(settings) => settings.check(known).err().map(|problem| Wrong::Key(problem.to_string())),
        Err(error) => {
            let text = format!("{name}.{}: {}", key.get_ref(), error.message());
            let is_unknown = error.message().starts_with("unknown field");
            Some(if is_unknown { Wrong::Key(text) } else { Wrong::Value(text) })
        }
    }
}

fn plain(name: &str) -> Spanned<Cow<'_, str>> {
    Spanned::new(0..0, name.into())
}

fn settings_of(tables: DeTable<'_>) -> Result<Settings, toml::de::Error> {
    let all = Spanned::new(0..0, DeValue::Table(tables));
    Settings::deserialize(ValueDeserializer::from(all))
}
