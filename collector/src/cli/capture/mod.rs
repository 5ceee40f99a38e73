//! `railscope capture`: records every frame, looks back, and saves what led to a trouble.

pub(super) mod args;
mod ask;
mod command;
mod guard;
mod plan;
mod status;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use anyhow::Context;
use nix::sys::signal::Signal;

use self::args::{Action, CaptureArgs};
use self::guard::{Guard, PATIENCE};
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
    let plan = plan::of(args)?;
    // Before any thread: each inherits which signals it leaves to others.
    let signal = BlockedSignal::block(Signal::SIGUSR1).context("wait for SIGUSR1")?;
    let interrupts = Arc::new(AtomicU32::new(0));
    let counted = interrupts.clone();
    let handler = move || {
        counted.fetch_add(1, Ordering::Relaxed);
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
