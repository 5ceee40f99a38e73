//! Reports as tables for SQL: `railscope.tables/1`, Parquet files with zstd in Hive's folders,
//! `TABLE/day=2026-03-01/cluster=a/job=b/part-CAPTURE.parquet`.
//!
//! One analysis writes one file of each table, of rows or none, so that a folder always has the schema.
//! Its name is made of what was captured: to analyse the same files again replaces it. Columns are named
//! as the keys of `railscope.report/1` that they repeat; only scalars become columns. All columns may be
//! `null`, and are where the report has `null`. Engines disagree about unsigned numbers and nanoseconds,
//! so that numbers are signed and times are in microseconds of UTC, rounded down; durations stay in
//! nanoseconds.

pub mod catalog;
mod column;
mod context;
mod file;
pub mod place;
mod table;

use std::io;
use std::path::{Path, PathBuf};

use self::catalog::TABLES;
use self::context::Context;
use self::place::Place;
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;

/// Name and version of the tables' contract. Columns may be added, none renamed.
pub const SCHEMA: &str = "railscope.tables/1";

/// Why tables were not written.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// Nothing in the input has a time.
    #[error("no frame and no counter sample has a time, and tables are by day")]
    NoTime,
    /// A file or folder could not be written.
    #[error("write {}", path.display())]
    Write {
        /// It.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table could not be encoded.
    #[error("encode {}", path.display())]
    Encode {
        /// Its file.
        path: PathBuf,
        /// What the encoder said.
        source: ::parquet::errors::ParquetError,
    },
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files, one a table.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
}

/// Writes all tables of `report` under `folder`, which is created if there is none.
///
/// # Errors
///
/// When nothing in the report has a time, or a file cannot be written. Each file is whole or as it was.
pub fn write(report: &Report, place: &Place, folder: &Path) -> Result<Written, TablesError> {
    if report.capture.origin_ns == Timestamp::EPOCH {
        return Err(TablesError::NoTime);
    }
    let context = Context::new(report);
    let mut written = Written::default();
    for table in TABLES {
        let path = folder.join(table.name).join(place.folder(report.capture.origin_ns));
        written.rows += (table.write)(&context, &path)?;
        written.tables += 1;
    }
    Ok(written)
}
