//! `railscope completions`: completion scripts for shells.

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Options of `railscope completions`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  source <(railscope completions bash)
  railscope completions fish > ~/.config/fish/completions/railscope.fish
  railscope completions zsh > \"${fpath[1]}/_railscope\"")]
pub(super) struct CompletionsArgs {
    /// Shell to write the script for
    shell: Shell,
}

pub(super) fn run<C: CommandFactory>(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut C::command(), "railscope", &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script).and_then(|()| out.flush()).context("write to standard output")
}
