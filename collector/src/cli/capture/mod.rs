//! `railscope capture`: records every frame, looks back, and saves what led to a trouble.

pub(super) mod args;
mod ask;
mod bundled;
mod command;
mod guard;
mod plan;
mod status;

use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use anyhow::Context;
use nix::sys::signal::Signal;

use self::args::{Action, CaptureArgs};
use self::bundled::Bundling;
use self::guard::{Guard, PATIENCE};
use super::exit_code::EXIT_INTERRUPTED;
use super::signal::BlockedSignal;
use super::source;
use crate::live::analyst::SHARE_FOR_SCREEN;
use crate::live::runner::{Pace, Runner};
use crate::live::session::Session;
use crate::record::recorder::Recorder;

/// The exit code.
pub(super) fn run(args: &CaptureArgs) -> anyhow::Result<u8> {
    if let Some(Action::Save(save)) = &args.action {
        return ask::run(save);
    }
    plan::check(args)?;
    // Before any thread: each inherits which signals it leaves to others.
    let signal = BlockedSignal::block(Signal::SIGUSR1).context("wait for SIGUSR1")?;
    let is_recorded = Arc::new(AtomicBool::new(false));
    let Some(bundling) = Bundling::start(args)? else {
        return record(args, None, signal, &is_recorded);
    };
    let recorded = record(args, Some(bundling.recording()), signal, &is_recorded);
    is_recorded.store(true, Ordering::Relaxed);
    match recorded {
        Ok(code) => bundling.finish(args).map(|own| if code == 0 { own } else { code }),
        Err(error) => {
            bundling.rescue();
            Err(error)
        }
    }
}

/// Records until the end, to `recording` where it is given. Returns the exit code.
fn record(
    args: &CaptureArgs,
    recording: Option<&Path>,
    signal: BlockedSignal,
    is_recorded: &Arc<AtomicBool>,
) -> anyhow::Result<u8> {
    let plan = plan::of(args, recording)?;
    let interrupts = Arc::new(AtomicU32::new(0));
    let (counted, ends) = (interrupts.clone(), is_recorded.clone());
    let handler = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        if ends.load(Ordering::Relaxed) {
            end_at_once();
        }
    };
    ctrlc::set_handler(handler).context("wait for Ctrl-C")?;
    let completeness = plan.completeness.clone();
    let (recorder, feed) = Recorder::start(plan.record)?;
    let mut guard = Guard::new(args, recorder, signal, interrupts)?;
    guard.introduce(&completeness);
    guard.start_command()?;
    match feed {
        None => {
            while !guard.is_done() {
                thread::sleep(PATIENCE);
                guard.look()?;
            }
        }
        Some(feed) => {
            let mut session =
                Session::new(source::live_pipeline(args.line_rate, args.ring.hang_after));
            session.add(Box::new(feed));
            let pace = Pace {
                every: args.every,
                share: SHARE_FOR_SCREEN,
                window: Some(args.window),
                patience: PATIENCE,
            };
            Runner::new(session, pace)?.run(&mut guard)?;
        }
    }
    guard.finish()
}

/// Ends an analysis that somebody interrupts: the frames stay on disk.
#[expect(clippy::disallowed_methods, reason = "main waits for the analysis")]
fn end_at_once() {
    process::exit(EXIT_INTERRUPTED.into());
}
