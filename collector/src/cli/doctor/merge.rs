//! `railscope doctor merge`: nodes side by side.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::super::terminal;
use super::FailOn;
use crate::doctor::merge::Comparison;
use crate::doctor::outcome::Status;
use crate::doctor::report::{Examination, SCHEMA};
use crate::export::text::node_comparison;

/// Options of `railscope doctor merge`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  srun -N 64 railscope doctor --json -o /share/doctor       a shared folder: a file for each node
  pdsh -w n[1-64] railscope doctor --json -o /share/doctor
  railscope doctor merge /share/doctor/*.json

Exit codes: 0 nothing at --fail-on or worse; 1 otherwise, where a difference counts as a warning; 2 usage error, or a file \
cannot be read.")]
pub(super) struct MergeArgs {
    /// What `railscope doctor --json` printed on each node
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print JSON (railscope.doctor.merge/1)
    #[arg(long)]
    json: bool,
    /// Exit with 1 if something is as bad as this
    #[arg(long, value_enum, value_name = "STATUS", default_value_t = FailOn::Critical)]
    fail_on: FailOn,
}

/// Most bytes of one file.
const FILE_LIMIT: u64 = 16 << 20;

pub(super) fn run(args: &MergeArgs) -> anyhow::Result<u8> {
    let examinations: Vec<Examination> =
        args.files.iter().map(|file| read(file)).collect::<anyhow::Result<_>>()?;
    let comparison = Comparison::new(&examinations);
    let mut out = BufWriter::new(anstream::stdout().lock());
    if args.json {
        serde_json::to_writer_pretty(&mut out, &comparison)?;
        writeln!(out).context("write to standard output")?;
    } else {
        node_comparison::write(&comparison, terminal::width(), &mut out)
            .context("write to standard output")?;
    }
    out.flush().context("write to standard output")?;
    let differs = if comparison.differences.is_empty() { Status::Right } else { Status::Warning };
    let worst = comparison.problems.iter().map(|problem| problem.status).max();
    Ok(args.fail_on.code(worst.unwrap_or(Status::Right).max(differs)))
}

fn read(path: &Path) -> anyhow::Result<Examination> {
    let name = path.display();
    let length = fs::metadata(path).with_context(|| format!("read {name}"))?.len();
    if length > FILE_LIMIT {
        bail!("{name} is too large for what `railscope doctor --json` prints");
    }
    let text = fs::read(path).with_context(|| format!("read {name}"))?;
    let examination: Examination = serde_json::from_slice(&text)
        .with_context(|| format!("{name} is not what `railscope doctor --json` prints"))?;
    if examination.schema != SCHEMA {
        bail!(
            "{name} has schema {}, not {SCHEMA}: another version of railscope wrote it",
            examination.schema
        );
    }
    Ok(examination)
}
