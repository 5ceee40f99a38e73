//! Boards as files: their names, paths and JSON.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::board;
use super::model::dashboard::Dashboard;
use crate::repository::root;

/// All boards by their names, as JSON.
pub(crate) fn boards() -> Result<Vec<(String, Value)>> {
    let all = board::all();
    let content = |board: &Dashboard| serde_json::to_value(board).context("write a board as JSON");
    all.iter().map(|board| Ok((name(board).to_owned(), content(board)?))).collect()
}

/// Its file.
pub(super) fn path(board: &Dashboard) -> PathBuf {
    root().join("dashboards").join(format!("{}.json", name(board)))
}

/// The name of its file.
pub(super) fn name(board: &Dashboard) -> &str {
    board.uid.strip_prefix("railscope-").unwrap_or(&board.uid)
}

/// The content of its file.
pub(super) fn json(board: &Dashboard) -> Result<String> {
    let mut text = serde_json::to_string_pretty(board).context("write a board as JSON")?;
    text.push('\n');
    Ok(text)
}
