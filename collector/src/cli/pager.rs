//! Text reports that are longer than the screen go through a pager, as git's output does.
//!
//! Not by a crate: `pager` gives the whole process to the pager, exit code included, and `minus` is
//! a pager of its own, where users have theirs.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::process::{Command, Stdio};

use anstream::AutoStream;
use clap::Args;

use super::terminal;
use crate::printable::PrintableWriter;

/// Ours, then everybody's.
const VARIABLES: [&str; 2] = ["RAILSCOPE_PAGER", "PAGER"];

const DEFAULT: &str = "less";

/// Quit if it fits the screen, pass colours, leave the text on the screen: git's defaults.
const LESS: (&str, &str) = ("LESS", "FRX");

/// What only a shell understands.
const SHELL: &str = "|&;<>()$`\\\"'*?[]#~=%{}!";

/// A shell's exit codes for a command that it cannot run.
const NOT_RUN: [i32; 2] = [126, 127];

/// Whether to use a pager.
#[derive(Args)]
pub(super) struct PagerArgs {
    /// Do not use a pager (RAILSCOPE_PAGER, PAGER, less) for text that is longer than the screen
    #[arg(long)]
    no_pager: bool,
}

impl PagerArgs {
    /// Prints what `write` writes, with colours if standard output shows them.
    pub(super) fn print(
        &self,
        write: impl FnOnce(&mut PrintableWriter<AutoStream<Vec<u8>>>) -> io::Result<()>,
    ) -> io::Result<()> {
        let stream = AutoStream::new(Vec::new(), AutoStream::choice(&io::stdout()));
        let mut text = PrintableWriter::text(stream);
        write(&mut text)?;
        let text = text.into_inner().into_inner();
        let lines = text.iter().filter(|byte| **byte == b'\n').count();
        // The shell's prompt takes the last line.
        let is_long = terminal::height().is_some_and(|height| lines >= height);
        if is_long && !self.no_pager && page(&text)? {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()
    }
}

/// The command line of the pager; `None` if it is empty or `cat`.
#[expect(clippy::disallowed_methods, reason = "cli reads the environment, once")]
fn pager() -> Option<String> {
    let pager = VARIABLES.iter().find_map(|name| env::var(name).ok());
    let pager = pager.unwrap_or_else(|| DEFAULT.to_owned());
    (!matches!(pager.trim(), "" | "cat")).then_some(pager)
}

/// Whether a pager showed `text`; false if there is none or it could not be run.
fn page(text: &[u8]) -> io::Result<bool> {
    let Some(pager) = pager() else { return Ok(false) };
    let mut command = command(&pager);
    if env::var_os(LESS.0).is_none() {
        command.env(LESS.0, LESS.1);
    }
    ignore_interrupts();
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return Ok(false) };
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(text) {
            // Its user has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written?,
        }
    }
    let status = child.wait()?;
    Ok(!status.code().is_some_and(|code| NOT_RUN.contains(&code)))
}

fn command(pager: &str) -> Command {
    let mut words = pager.split_whitespace();
    match words.next().filter(|_| !pager.contains(|c| SHELL.contains(c))) {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        None => {
            let mut command = Command::new("sh");
            command.args(["-c", pager]);
            command
        }
    }
}

/// Ctrl-C is a key of the pager; if it ended railscope, the pager would fight the shell for the
/// terminal. The pager ends with the terminal, and railscope with the pager.
fn ignore_interrupts() {
    #[cfg(target_os = "linux")]
    drop(ctrlc::set_handler(|| ()));
}
