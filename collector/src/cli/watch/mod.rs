//! `railscope watch`: what a training does, while it does it. On a terminal a view that one moves
//! about in, elsewhere a line for each training step and finding.

mod args;
mod hangup;
#[cfg(feature = "tui")]
mod keyboard;
mod plain;
mod silence;
#[cfg(feature = "tui")]
mod terminal;

pub(super) use args::WatchArgs;

#[cfg(feature = "tui")]
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

use super::source;
use crate::live::session::Session;

/// The exit code.
pub(super) fn run(args: &WatchArgs) -> anyhow::Result<u8> {
    let mut session = Session::new(source::live_pipeline(args.line_rate));
    session.add(args.open()?);
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    // Ctrl-C and SIGTERM end it as it ends by itself.
    ctrlc::set_handler(move || over.store(true, Ordering::Relaxed)).context("wait for Ctrl-C")?;
    #[cfg(feature = "tui")]
    if !args.plain && io::stdout().is_terminal() {
        terminal::run(session, args, &is_over)?;
        return Ok(0);
    }
    plain::run(session, args, &is_over)?;
    Ok(0)
}
