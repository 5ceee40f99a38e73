//! `cargo xtask dashboards`: Grafana boards, made by code and committed as JSON.

mod board;
mod file;
mod layout;
mod model;
mod picture;
mod query;
mod schema;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

pub(crate) use self::file::boards;
use self::file::{json, path};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a committed board differs
    #[arg(long)]
    check: bool,
    /// Compare the boards with Grafana's own types, fetched by npm and pip into target/grafana
    #[arg(long)]
    types: bool,
    /// Draw docs/boards/*.png from the answers that `cargo xtask boards` left
    #[arg(long)]
    pictures: bool,
}

/// `cargo xtask dashboards`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.check {
        check()?;
    }
    if options.types {
        check_types()?;
    }
    if options.pictures {
        picture::draw()?;
    }
    if options.check || options.types || options.pictures {
        return Ok(ExitCode::SUCCESS);
    }
    for board in board::all() {
        let path = path(&board);
        fs::write(&path, json(&board)?).with_context(|| format!("write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Programs that [`check_types`] needs and this machine lacks.
pub(crate) fn missing_programs() -> Vec<&'static str> {
    schema::missing()
}

/// Compares the boards with Grafana's own types.
pub(crate) fn check_types() -> Result<()> {
    schema::check()
}

/// Fails if a committed board is not what the code makes.
pub(crate) fn check() -> Result<()> {
    for board in board::all() {
        let path = path(&board);
        let committed = fs::read_to_string(&path);
        let committed = committed.with_context(|| format!("read {}", path.display()))?;
        if committed != json(&board)? {
            bail!("{} is out of date: run `cargo xtask dashboards`", path.display());
        }
    }
    Ok(())
}
