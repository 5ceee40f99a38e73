//! `analyze --format parquet`: where tables go.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;

use super::notice::notice;
use crate::export::parquet;
use crate::export::parquet::Written;
use crate::export::parquet::place::{Name, Place};
use railscope_core::report::Report;
use railscope_core::report::words::number::counted;

/// Options of tables.
#[derive(Args)]
#[command(next_help_heading = "Tables")]
pub(super) struct TablesArgs {
    /// Folder for the tables of `--format parquet`; those of other captures in it stay
    #[arg(long, short, value_name = "DIR", conflicts_with = "partial")]
    output: Option<PathBuf>,
    /// Cluster of the tables, a folder in each [default: unknown]
    #[arg(long, value_name = "NAME", conflicts_with = "partial")]
    cluster: Option<Name>,
    /// Job of the tables, likewise [default: unknown]
    #[arg(long, value_name = "NAME", conflicts_with = "partial")]
    job: Option<Name>,
}

/// A checked place for tables.
pub(super) struct Destination {
    folder: PathBuf,
    place: Place,
}

impl TablesArgs {
    /// Where tables go; `None` for other formats.
    ///
    /// # Errors
    ///
    /// When an option is missing, or has no effect.
    pub(super) fn destination(&self, is_wanted: bool) -> anyhow::Result<Option<Destination>> {
        let Self { output, cluster, job } = self;
        if !is_wanted {
            let is_used = output.is_some() || cluster.is_some() || job.is_some();
            ensure!(!is_used, "--output, --cluster and --job need --format parquet: add it");
            return Ok(None);
        }
        let Some(folder) = output.clone() else {
            anyhow::bail!("--format parquet writes many files: name a folder with --output DIR")
        };
        ensure!(
            !folder.exists() || folder.is_dir(),
            "{} is no folder: name one for the tables",
            folder.display()
        );
        let name = |given: &Option<Name>| given.clone().map_or_else(|| "unknown".parse(), Ok);
        Ok(Some(Destination { folder, place: Place { cluster: name(cluster)?, job: name(job)? } }))
    }
}

impl Destination {
    /// Writes the tables, and says so.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub(super) fn write(&self, report: &Report) -> anyhow::Result<()> {
        let Written { tables, rows } = parquet::write(report, &self.place, &self.folder)?;
        let tables = counted(tables, "table");
        let rows = counted(rows, "row");
        notice(format_args!("{tables} with {rows} written to {}", self.folder.display()));
        Ok(())
    }
}
