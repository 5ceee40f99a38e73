//! `railscope man-pages`: a man page for the program and for each of its commands. Packages carry them.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};

/// Options of `railscope man-pages`, as typed.
#[derive(Args)]
pub(super) struct ManPagesArgs {
    /// Existing folder to write them to
    folder: PathBuf,
}

pub(super) fn run<C: CommandFactory>(args: &ManPagesArgs) -> anyhow::Result<()> {
    clap_mangen::generate_to(C::command(), &args.folder)
        .with_context(|| format!("write man pages to {}", args.folder.display()))
}
