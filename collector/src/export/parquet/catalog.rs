//! The tables, and what each column holds.

use std::fmt::Write;
use std::path::Path;

use super::column::{Column, Columns};
use super::context::Context;
use super::table::{
    Captures, Collectives, Findings, Ports, PortsPerSecond, QueuePairs, RankWaits, TrainingSteps,
    Verdicts,
};
use super::{SCHEMA, TablesError, file};

/// A table: rows made from a report.
pub(super) trait Table {
    /// Its name and its folder's.
    const NAME: &'static str;
    /// What a row is.
    const ABOUT: &'static str;
    /// A row.
    type Row<'a>: 'a;
    /// Its rows, in the order of the report.
    fn rows<'a>(context: &'a Context<'a>) -> Vec<Self::Row<'a>>;
    /// Adds its columns.
    fn columns<'a>(to: &mut Columns<'a, Self::Row<'a>>);
}

/// A table of the catalogue.
pub struct Entry {
    /// Its name and its folder's.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    pub(super) write: fn(&Context<'_>, &Path) -> Result<u64, TablesError>,
    columns: fn() -> Vec<Described>,
}

/// A column of the catalogue.
struct Described {
    name: &'static str,
    type_name: &'static str,
    about: &'static str,
}

impl Entry {
    const fn of<T: Table>() -> Self {
        Self { name: T::NAME, about: T::ABOUT, write: write::<T>, columns: columns::<T> }
    }
}

/// The tables, in the order of the catalogue.
pub const TABLES: &[Entry] = &[
    Entry::of::<Captures>(),
    Entry::of::<TrainingSteps>(),
    Entry::of::<Collectives>(),
    Entry::of::<RankWaits>(),
    Entry::of::<QueuePairs>(),
    Entry::of::<Ports>(),
    Entry::of::<PortsPerSecond>(),
    Entry::of::<Findings>(),
    Entry::of::<Verdicts>(),
];

fn write<T: Table>(context: &Context<'_>, folder: &Path) -> Result<u64, TablesError> {
    file::write(context, T::NAME, &list::<T>(), &T::rows(context), folder)
}

fn list<'a, T: Table>() -> Vec<Column<'a, T::Row<'a>>> {
    let mut columns = Columns::new();
    T::columns(&mut columns);
    columns.into_list()
}

fn columns<T: Table>() -> Vec<Described> {
    let describe = |column: Column<'_, T::Row<'_>>| Described {
        name: column.name,
        type_name: column.value.type_name(),
        about: column.about,
    };
    list::<T>().into_iter().map(describe).collect()
}

/// The catalogue as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = format!(
        "# The tables of railscope: `{SCHEMA}`\n\n\
         What `railscope analyze --format parquet` writes; made by `railscope schema tables`. Columns may be\n\
         added, none renamed. Any value may be null: unknown. Names are those of the keys of\n\
         `railscope.report/1`; `*_at` is the time of the key `*_ns`.\n\n\
         Folders give each table three more columns: `day` (the day in UTC on which the capture began),\n\
         `cluster` and `job`.\n"
    );
    for table in TABLES {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n| column | type | holds |\n|---|---|---|\n",
            table.name, table.about
        );
        for Described { name, type_name, about } in (table.columns)() {
            let _ = writeln!(text, "| `{name}` | {type_name} | {about} |");
        }
    }
    text
}
