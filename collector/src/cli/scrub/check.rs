//! Is the result clean, and does it say the same? It is read again and searched as a stranger would.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use super::captures::Captures;
use super::{unpack, windows};
use crate::bundle::manifest::{MANIFEST, Role};
use crate::scrub::pseudonym::Pseudonyms;
use crate::scrub::search::{self, Member};
use crate::scrub::text::{Unknown, words};
use railscope_core::report::Report;

/// Longest text of a report that is compared.
const LONGEST: usize = 1 << 16;

/// Keys of a report that a copy has otherwise: names and formats of files, and when they were written.
const OTHERWISE: [&str; 9] =
    ["file", "format", "tool", "inputs", "source", "sources", "options", "evidence", "snap_len"];

/// Keys of a report that number others; lists that are sorted by names have other numbers.
const NUMBERS: [&str; 14] = [
    "id",
    "flow",
    "flows",
    "recovery_flow",
    "connection",
    "clock_reference",
    "tap",
    "taps",
    "finding",
    "findings",
    "explained_by",
    "explains",
    "frame",
    "time_ns",
];

/// Searches all members for originals, the manifest too.
///
/// # Errors
///
/// When one is found: it says where, and of which kind it is.
pub(super) fn search(
    path: &Path,
    pseudonyms: &Pseudonyms,
    captures: &Captures,
) -> anyhow::Result<()> {
    let needles = search::needles(pseudonyms, &captures.places, &captures.keys, captures.ids())
        .context("search the result")?;
    let bundle = unpack(path)?;
    let manifest = serde_json::to_vec(&bundle.manifest).context("read the manifest")?;
    refuse(MANIFEST, needles.find(&manifest, Member::Report))?;
    for member in bundle.members {
        let kind = match member.entry.role {
            Role::Report => Member::Report,
            Role::Capture => Member::Capture,
            _ => Member::Text,
        };
        let mut found = None;
        let mut look = |start: usize, bytes: &[u8]| {
            let here = needles.find(bytes, kind).map(|(what, at)| (what, start + at));
            found = found.or(here);
        };
        let opened = member.path();
        if kind == Member::Capture {
            let mut plain = zstd::Decoder::new(std::fs::File::open(&opened)?)?;
            let mut unpacked = tempfile::NamedTempFile::new()?;
            std::io::copy(&mut plain, &mut unpacked).context("unpack a capture")?;
            windows(unpacked.path(), &mut look)?;
        } else {
            windows(&opened, &mut look)?;
        }
        refuse(&member.entry.path, found)?;
    }
    Ok(())
}

fn refuse(member: &str, found: Option<(&str, usize)>) -> anyhow::Result<()> {
    match found {
        None => Ok(()),
        Some((what, at)) => bail!(
            "an original {what} is still in {member}, at byte {at}: nothing was written; please report this"
        ),
    }
}

/// Where the reports differ but for names.
pub(super) fn differences(
    before: &Report,
    after: &Report,
    pseudonyms: &mut Pseudonyms,
) -> anyhow::Result<Vec<String>> {
    let mut before = serde_json::to_value(before).context("read the report")?;
    let mut after = serde_json::to_value(after).context("read the report")?;
    rename(&mut before, pseudonyms);
    [&mut before, &mut after].into_iter().for_each(order);
    let mut differing = Vec::new();
    compare("", &before, &after, &mut differing);
    Ok(differing)
}

fn rename(value: &mut Value, pseudonyms: &mut Pseudonyms) {
    match value {
        Value::String(text) if text.len() <= LONGEST => {
            *text = words(text, Unknown::Keep, pseudonyms);
        }
        Value::Array(all) => all.iter_mut().for_each(|one| rename(one, pseudonyms)),
        Value::Object(fields) => fields.values_mut().for_each(|one| rename(one, pseudonyms)),
        _ => {}
    }
}

/// Lists that are sorted by names come in another order.
fn order(value: &mut Value) {
    match value {
        Value::Array(all) => {
            all.iter_mut().for_each(order);
            all.sort_by_cached_key(ToString::to_string);
        }
        Value::Object(fields) => {
            cut_example(fields);
            let is_number = |key: &str, one: &Value| {
                let are_numbers =
                    || one.as_array().is_some_and(|all| all.iter().all(Value::is_number));
                NUMBERS.contains(&key) && (one.is_number() || one.is_null() || are_numbers())
            };
            fields.retain(|key, one| !OTHERWISE.contains(&key.as_str()) && !is_number(key, one));
            fields.values_mut().for_each(order);
        }
        _ => {}
    }
}

/// A title that quotes one of several lines quotes that of the host whose name sorts first.
fn cut_example(fields: &mut serde_json::Map<String, Value>) {
    let evidence = fields.get("evidence").and_then(Value::as_array).into_iter().flatten();
    let texts = evidence.filter_map(|one| one.get("text")?.as_str());
    let quotes: Vec<String> =
        texts.filter_map(|text| Some(text.split_once(": ")?.1.to_owned())).collect();
    if let Some(Value::String(title)) = fields.get_mut("title")
        && let Some(kept) = quotes.iter().find_map(|quote| title.strip_suffix(quote.as_str()))
    {
        *title = kept.to_owned();
    }
}

fn compare(place: &str, before: &Value, after: &Value, differing: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                let place = [place, ".", key].concat();
                let null = Value::Null;
                compare(
                    &place,
                    one.get(key).unwrap_or(&null),
                    other.get(key).unwrap_or(&null),
                    differing,
                );
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (one, other) in one.iter().zip(other) {
                compare(&[place, "[]"].concat(), one, other, differing);
            }
        }
        _ if before != after => differing.push(place.trim_start_matches('.').to_owned()),
        _ => {}
    }
}
