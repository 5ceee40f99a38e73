//! Collectives by kind and size, those that took most time first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::TextOptions;
use super::communicator_names::CommunicatorNames;
use super::quantity::{byte_rate, bytes, count, counted, duration};
use super::style::{Meaning, paint};
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;

/// What collectives of one row have in common, in the order of its cells.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    communicator: &'a str,
    kind: &'static str,
    alternatives: &'a [&'static str],
    algorithm: &'static str,
    protocol: &'static str,
    bytes: Option<u64>,
}

/// Collectives of one kind and size.
struct Row<'a> {
    key: Key<'a>,
    all: Vec<&'a CollectiveReport>,
    total_ns: u64,
}

/// Writes the table of collectives; nothing where there are none.
pub(super) fn write(
    report: &Report,
    names: CommunicatorNames,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut rows = rows(&report.collectives);
    if rows.is_empty() {
        return Ok(());
    }
    rows.sort_by_key(|row| Reverse(row.total_ns));
    let all = rows.len();
    let unknown: usize =
        rows.iter().filter(|row| row.key.kind == "unknown").map(|row| row.all.len()).sum();
    rows.truncate(options.top);
    let column = |cell: &dyn Fn(&Row<'_>) -> String| rows.iter().map(cell).collect();
    let columns = vec![
        Column::words("COLLECTIVE", column(&|row| kind(&row.key))),
        Column::words("OF", column(&|row| names.where_needed(row.key.communicator))),
        Column::words("BY", column(&|row| method(row.key.algorithm, row.key.protocol))),
        Column::numbers("SIZE", column(&size)),
        Column::numbers("COUNT", column(&|row| count(row.all.len() as u64))),
        Column::numbers("CHANNELS", column(&channels)).spare(3),
        Column::numbers("MEDIAN", column(&|row| duration(median(&row.all, duration_ns)))),
        Column::numbers(
            "MAX",
            column(&|row| row.slowest().map(duration_ns).map_or_else(String::new, duration)),
        )
        .spare(1),
        Column::numbers("ALGBW", column(&|row| rate(&row.all, |one| one.algbw_bytes_per_s)))
            .spare(2),
        Column::numbers("BUSBW", column(&|row| rate(&row.all, |one| one.busbw_bytes_per_s))),
        Column::numbers(
            "SLOWEST",
            column(&|row| row.slowest().map(|one| one.id.to_string()).unwrap_or_default()),
        ),
    ];
    writeln!(out, "\n{}", render(columns))?;
    options.write_more(all, out)?;
    if let Some(slowest) = rows.first().and_then(Row::slowest) {
        let hint = format!(
            "median bandwidths, counted as by nccl-tests; more of one: railscope explain \
             --collective {}",
            slowest.id
        );
        writeln!(out, "{}", paint(Meaning::Aside, hint))?;
    }
    if unknown > 0 {
        let note = format!(
            "{} unknown: messages are missing, or fit nothing that NCCL does",
            counted(unknown as u64, "collective")
        );
        writeln!(out, "{}", paint(Meaning::Aside, note))?;
    }
    Ok(())
}

impl<'a> Row<'a> {
    /// The one that took longest.
    fn slowest(&self) -> Option<&'a CollectiveReport> {
        self.all.iter().copied().max_by_key(|one| (duration_ns(one), Reverse(one.id)))
    }
}

fn rows(collectives: &[CollectiveReport]) -> Vec<Row<'_>> {
    let mut groups: BTreeMap<Key<'_>, Vec<&CollectiveReport>> = BTreeMap::new();
    for one in collectives {
        let key = Key {
            communicator: &one.communicator,
            kind: one.kind,
            alternatives: &one.alternatives,
            algorithm: one.algorithm,
            protocol: one.protocol,
            bytes: one.bytes,
        };
        groups.entry(key).or_default().push(one);
    }
    let row = |(key, all): (_, Vec<_>)| {
        let total_ns = all.iter().copied().map(duration_ns).sum();
        Row { key, all, total_ns }
    };
    groups.into_iter().map(row).collect()
}

/// From the first data packet to the last.
pub(super) fn duration_ns(one: &CollectiveReport) -> u64 {
    u64::try_from(one.end_ns.saturating_sub(one.start_ns)).unwrap_or(0)
}

/// `all_reduce`; `all_reduce or 4 others` where its traffic does not tell.
fn kind(key: &Key<'_>) -> String {
    match key.alternatives {
        [] => key.kind.to_owned(),
        others => format!("{} or {}", key.kind, counted(others.len() as u64, "other")),
    }
}

/// `ring simple`; what is unknown is left out.
pub(super) fn method(algorithm: &str, protocol: &str) -> String {
    let known = [algorithm, protocol].into_iter().filter(|word| *word != "unknown");
    known.collect::<Vec<_>>().join(" ")
}

fn size(row: &Row<'_>) -> String {
    let Some(size) = row.key.bytes else { return "?".to_owned() };
    let is_estimated = row.all.iter().any(|one| one.estimated);
    format!("{}{}", if is_estimated { "~" } else { "" }, bytes(size))
}

fn channels(row: &Row<'_>) -> String {
    let channels = || row.all.iter().map(|one| one.channels);
    match (channels().min(), channels().max()) {
        (Some(least), Some(most)) if least < most => format!("{least}-{most}"),
        (_, most) => most.map(|most| most.to_string()).unwrap_or_default(),
    }
}

/// The lower median.
fn median(all: &[&CollectiveReport], of: impl Fn(&CollectiveReport) -> u64) -> u64 {
    let mut values: Vec<u64> = all.iter().map(|one| of(one)).collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// The upper median, which is the rate of the collective with the lower median duration.
fn rate(all: &[&CollectiveReport], of: impl Fn(&CollectiveReport) -> Option<u64>) -> String {
    let mut rates: Vec<u64> = all.iter().filter_map(|one| of(one)).collect();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied().map(byte_rate).unwrap_or_default()
}
