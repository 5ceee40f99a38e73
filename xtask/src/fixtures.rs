//! `cargo xtask fixtures`: packs recorded jobs for the repository.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::recording::{self, Recording};
use crate::repository::root;

/// Where the repository keeps recorded jobs.
pub(crate) const FOLDER: &str = "tests/captures";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Recorded jobs, or folders of them: captures, truth.json, logs.
    #[arg(required = true, value_name = "FOLDER")]
    recordings: Vec<PathBuf>,
}

/// `cargo xtask fixtures`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let mut total = 0;
    for path in &options.recordings {
        for recording in recording::find(path)? {
            let recording = Recording::read(&recording)?;
            let bytes = recording.pack(&folder)?;
            println!("{:>9} {}", bytes, recording.name);
            total += bytes;
        }
    }
    println!("{total:>9} bytes in {FOLDER}");
    Ok(ExitCode::SUCCESS)
}
