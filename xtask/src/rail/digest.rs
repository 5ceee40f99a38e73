//! What a small set of incidents hashes to, on every machine.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::made::{self, all_files};
use super::plan::Planned;

/// The file with the digests, a line an incident.
pub(super) const KNOWN: &str = "xtask/src/rail/digests";

/// So many incidents of seed 1 have their digest in the file.
pub(super) const INCIDENTS: usize = 6;

/// Makes incidents and digests names and bytes of all their files.
pub(super) fn of(railscope: &Path, planned: &[Planned], folder: &Path) -> Result<String> {
    let mut text = String::new();
    for one in planned {
        let own = folder.join(&one.name);
        made::make(railscope, one, &own)?;
        let _ = writeln!(text, "{} {} {}", one.name, one.case.name(), of_folder(&own)?);
        fs::remove_dir_all(&own).with_context(|| format!("remove {}", own.display()))?;
    }
    Ok(text)
}

fn of_folder(folder: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let files = all_files(folder)?;
    ensure!(files.len() > 3, "{}: files are missing", folder.display());
    for file in files {
        let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
        let name = file.strip_prefix(folder).context("a file of the folder")?;
        hash.update(format!("{} {}\n", name.display(), bytes.len()));
        hash.update(bytes);
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
