//! Logs, counters and answers of RAS, line by line.

use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;

use super::names;
use crate::bundle::manifest::Role;
use crate::bundle::write::{Content, Item};
use crate::cli::source;
use crate::ingest::log::{LogEvent, LogLines, TextFile};
use crate::scrub::pseudonym::Pseudonyms;
use crate::scrub::text;

/// Whether a member is text that can be scrubbed.
pub(super) const fn is_text(role: Role) -> bool {
    matches!(role, Role::NcclLog | Role::TrainLog | Role::Counters | Role::Ras)
}

/// Finds the names in a file.
pub(super) fn learn(path: &Path, pseudonyms: &mut Pseudonyms) -> anyhow::Result<()> {
    each_line(path, |_, line| {
        names::of_line(line, pseudonyms);
        // Paths name people, too.
        let _ = text::line(line, pseudonyms);
        Ok(())
    })
}

/// The file without names. Of logs, only NCCL's lines stay, if the analysis knows them: where other programs
/// write names of hosts, jobs and processes is not known well enough.
pub(super) fn rewrite(
    role: Role,
    path: &Path,
    number: usize,
    pseudonyms: &mut Pseudonyms,
) -> anyhow::Result<Item> {
    let mut pipeline = source::capture_pipeline();
    let (log, training) = (pipeline.add_log(""), pipeline.add_train_log(""));
    let file = tempfile::NamedTempFile::new().context("create a temporary file")?;
    let (file, place) = file.into_parts();
    let mut out = BufWriter::new(file);
    each_line(path, |at, line| {
        let is_known = match role {
            Role::NcclLog => {
                pipeline.handle_log_line(log, at, line.as_bytes()) && names::is_of_nccl(line)
            }
            Role::TrainLog => pipeline.handle_train_log_line(training, at, line.as_bytes()),
            _ => true,
        };
        let kept = if is_known { text::line(line, pseudonyms) } else { String::new() };
        writeln!(out, "{kept}").context("write a temporary file")
    })?;
    out.flush().context("write a temporary file")?;
    let content = Content::Held(place);
    Ok(Item { role, name: format!("{role}-{number}.txt"), content, written_ns: None })
}

fn each_line(
    path: &Path,
    mut take: impl FnMut(u64, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut lines = LogLines::open(TextFile::Log, path)?;
    while let Some(event) = lines.next_event() {
        match event {
            LogEvent::Line { number, bytes, .. } => take(number, &String::from_utf8_lossy(bytes))?,
            LogEvent::Problem(_) => break,
        }
    }
    Ok(())
}
