//! `[findings]` and `[expect]`: the analysis' own type reads each key alone, so that one mistake hides no
//! other.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::reader::{Reader, into_table};
use railscope_core::analysis::finding::settings::Settings;

pub(super) fn read<'a, 'n>(
    reader: &mut Reader<'a>,
    settings: &mut Settings,
    known: impl Iterator<Item = &'n str> + Clone,
) {
    let mut right = DeTable::default();
    for name in ["findings", "expect"] {
        let Some(section) = reader.take(name) else { continue };
        let span = section.span();
        if !section.as_ref().is_table() {
            reader.add(&span, format!("`{name}` is a section, not a value: write [{name}]"));
            continue;
        }
        let name = Spanned::new(span.clone(), name.into());
        let mut keys = DeTable::default();
        for (key, value) in into_table(section.into_inner()) {
            let (at, of_value) = (key.span(), value.span());
            let one = DeTable::from_iter([(key.clone(), value.clone())]);
            let section = Spanned::new(span.clone(), DeValue::Table(one));
            let alone = DeTable::from_iter([(name.clone(), section)]);
            let problem = match settings_of(alone) {
                Ok(settings) => {
                    let problem = settings.check(known.clone()).err();
                    problem.map(|problem| (at, problem.to_string()))
                }
                Err(error) => {
                    let at =
                        if error.message().starts_with("unknown field") { at } else { of_value };
                    Some((at, format!("{}.{}: {}", name.get_ref(), key.get_ref(), error.message())))
                }
            };
            match problem {
                Some((at, problem)) => reader.add(&at, problem),
                None => {
                    keys.insert(key, value);
                }
            }
        }
        right.insert(name, Spanned::new(span, DeValue::Table(keys)));
    }
    // Each key has been read alone, so all of them together can be read.
    if let Ok(read) = settings_of(right) {
        *settings = read;
    }
}

fn settings_of(tables: DeTable<'_>) -> Result<Settings, toml::de::Error> {
    let all = Spanned::new(0..0, DeValue::Table(tables));
    Settings::deserialize(ValueDeserializer::from(all))
}
