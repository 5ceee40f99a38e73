//! `cargo xtask dashboards`: Grafana boards, made by code and committed as JSON.

mod board;
mod layout;
mod model;
mod picture;
mod query;
mod schema;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::model::dashboard::Dashboard;
use crate::repository::root;

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

/// All boards by their names, as JSON.
pub(crate) fn boards() -> Result<Vec<(String, Value)>> {
    let all = board::all();
    let content = |board: &Dashboard| serde_json::to_value(board).context("write a board as JSON");
    all.iter().map(|board| Ok((name(board).to_owned(), content(board)?))).collect()
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

fn path(board: &Dashboard) -> PathBuf {
    root().join("dashboards").join(format!("{}.json", name(board)))
}

/// The name of its file.
fn name(board: &Dashboard) -> &str {
    board.uid.strip_prefix("railscope-").unwrap_or(&board.uid)
}

fn json(board: &Dashboard) -> Result<String> {
    let mut text = serde_json::to_string_pretty(board).context("write a board as JSON")?;
    text.push('\n');
    Ok(text)
}
