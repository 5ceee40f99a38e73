//! `railscope watch`: shows a running training. On a terminal it is an interactive view, elsewhere it
//! prints a line for each training step and finding.

pub(super) mod args;
mod hangup;
#[cfg(feature = "tui")]
mod keyboard;
mod plain;
mod sampled;
mod silence;
#[cfg(feature = "tui")]
mod terminal;

use args::WatchArgs;

#[cfg(feature = "tui")]
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::source;
use crate::live::session::Session;

/// The exit code.
pub(super) fn run(args: &WatchArgs) -> anyhow::Result<u8> {
    let mut session = Session::new(source::live_pipeline(args.line_rate, args.hang_after));
    args.open()?.into_iter().for_each(|source| session.add(source));
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    // Ctrl-C and SIGTERM end it like the end of the source.
    ctrlc::set_handler(move || over.store(true, Ordering::Relaxed)).context("wait for Ctrl-C")?;
    #[cfg(feature = "tui")]
    if !args.plain && !args.is_sflow_only() && io::stdout().is_terminal() {
        terminal::run(session, args, &is_over)?;
        return Ok(0);
    }
    plain::run(session, args, &is_over)?;
    Ok(0)
}
