//! Logs and counters, line by line.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;

use crate::bundle::manifest::Role;
use crate::bundle::write::{Content, Item};
use crate::ingest::log::{LogEvent, LogLines, TextFile};
use crate::scrub::lines::{self, Counters, DROPPED};
use crate::scrub::pseudonym::Pseudonyms;

/// Whether a member is text that can be written anew.
pub(super) const fn is_text(role: Role) -> bool {
    matches!(role, Role::NcclLog | Role::TrainLog | Role::Counters)
}

/// Finds the names in a file.
pub(super) fn learn(role: Role, path: &Path, pseudonyms: &mut Pseudonyms) -> anyhow::Result<()> {
    each_line(role, path, pseudonyms, |_| Ok(()))
}

/// The file, written anew from what is understood; and how many of its lines were not.
pub(super) fn rewrite(
    role: Role,
    path: &Path,
    number: usize,
    pseudonyms: &mut Pseudonyms,
) -> anyhow::Result<(Item, u64)> {
    let file = tempfile::NamedTempFile::new().context("create a temporary file")?;
    let (file, place) = file.into_parts();
    let mut out = BufWriter::new(file);
    let mut dropped = 0;
    each_line(role, path, pseudonyms, |line| {
        dropped += u64::from(line.as_ref().is_some_and(|line| line == DROPPED));
        let line = line.unwrap_or_default();
        writeln!(out, "{line}").context("write a temporary file")
    })?;
    out.flush().context("write a temporary file")?;
    let content = Content::Held(place);
    let item = Item { role, name: format!("{role}-{number}.txt"), content, written_ns: None };
    Ok((item, dropped))
}

/// Every line of a file as it is written anew; `None` for those that are empty.
fn each_line(
    role: Role,
    path: &Path,
    pseudonyms: &mut Pseudonyms,
    mut take: impl FnMut(Option<String>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut counters = Counters::default();
    let mut lines = LogLines::open(TextFile::Log, path)?;
    while let Some(event) = lines.next_event() {
        let LogEvent::Line { bytes, .. } = event else { break };
        let line = match role {
            Role::NcclLog => lines::of_log(bytes, pseudonyms),
            Role::TrainLog => lines::of_training(bytes),
            _ => counters.line(bytes, pseudonyms),
        };
        let is_empty = bytes.trim_ascii().is_empty();
        take(line.or_else(|| (!is_empty).then(|| DROPPED.to_owned())))?;
    }
    Ok(())
}
