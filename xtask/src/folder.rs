//! The files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Files in `folder` with this extension, by name.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths = paths
        .collect::<std::io::Result<Vec<_>>>()
        .with_context(|| format!("list {}", folder.display()))?;
    paths.retain(|path| path.extension().is_some_and(|one| one == extension));
    paths.sort();
    Ok(paths)
}
