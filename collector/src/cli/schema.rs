//! `railscope schema`: JSON Schemas of the files that railscope writes, and the catalogue of its tables.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, ValueEnum};

use railscope_core::compare::Comparison;
use railscope_core::report::Report;

/// Options of `railscope schema`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  railscope schema > railscope.report-1.schema.json
  railscope schema truth > railscope.truth-1.schema.json
  railscope schema tables > dashboards/sql/TABLES.md
  railscope schema | jq '.\"$defs\".PsnReport.properties'")]
pub(super) struct SchemaArgs {
    /// Document to describe
    #[arg(value_enum, default_value_t = Document::Report)]
    document: Document,
}

#[derive(Clone, Copy, ValueEnum)]
enum Document {
    /// The report that `analyze --format json` prints
    Report,
    /// What `compare --format json` prints
    Compare,
    /// A line of the file that `drive --truth` writes
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Truth,
    /// What `doctor --json` prints
    #[cfg(all(target_os = "linux", feature = "live"))]
    Doctor,
    /// What `doctor merge --json` prints
    #[cfg(all(target_os = "linux", feature = "live"))]
    DoctorMerge,
    /// The tables that `analyze --format parquet` writes, as Markdown
    #[cfg(feature = "parquet")]
    Tables,
}

pub(super) fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    let schema = match args.document {
        Document::Report => Report::json_schema(),
        Document::Compare => schemars::schema_for!(Comparison),
        #[cfg(all(target_os = "linux", feature = "drive"))]
        Document::Truth => railscope_drive::truth::Record::json_schema(),
        #[cfg(all(target_os = "linux", feature = "live"))]
        Document::Doctor => schemars::schema_for!(crate::doctor::report::Examination),
        #[cfg(all(target_os = "linux", feature = "live"))]
        Document::DoctorMerge => schemars::schema_for!(crate::doctor::merge::Comparison),
        #[cfg(feature = "parquet")]
        Document::Tables => {
            let text = crate::export::parquet::catalog::markdown();
            return write!(io::stdout(), "{text}").context("write to standard output");
        }
    };
    let schema = serde_json::to_string_pretty(&schema)?;
    writeln!(io::stdout(), "{schema}").context("write to standard output")
}
