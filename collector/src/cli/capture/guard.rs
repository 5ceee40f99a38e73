//! Watches a recording: triggers, signals, clients, the command, the status line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::args::CaptureArgs;
use super::command::Running;
use super::{ask, plan, status};
use crate::cli::exit_code::{EXIT_INTERRUPTED, EXIT_UNUSABLE};
use crate::cli::notice::notice;
use crate::cli::progress::StatusLine;
use crate::cli::signal::BlockedSignal;
use crate::live::runner::Observer;
use crate::live::session::Session;
use crate::record::control::ControlServer;
use crate::record::recorder::Recorder;
use crate::record::saver::{Limit, SavePolicy, Saver};
use crate::trigger::Condition;
use railscope_core::pipeline::Analysed;

/// Longest time between two looks.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);

/// Silence after which it is mentioned.
const SILENCE: Duration = Duration::from_secs(5);

/// Everything around a recording.
pub(super) struct Guard<'a> {
    args: &'a CaptureArgs,
    saver: Saver,
    signal: BlockedSignal,
    interrupts: Arc<AtomicU32>,
    command: Option<Running>,
    status: StatusLine,
    began: Instant,
    /// Frames at the latest look, and when it was.
    latest: (u64, Instant),
    rate: f64,
    is_silence_said: bool,
    is_done: bool,
}

impl<'a> Guard<'a> {
    pub(super) fn new(
        args: &'a CaptureArgs,
        recorder: Recorder,
        signal: BlockedSignal,
        interrupts: Arc<AtomicU32>,
    ) -> anyhow::Result<Self> {
        let began = now();
        // A command has the terminal for itself.
        let status = if args.command.is_empty() { StatusLine::new() } else { StatusLine::hidden() };
        let server = if args.is_ring() { listen(args)? } else { None };
        let policy = SavePolicy {
            triggers: args.ring.on.clone(),
            after: args.ring.after,
            names: plan::names(args),
            limit: Limit::Saves(args.ring.max_saves),
        };
        Ok(Self {
            args,
            saver: Saver::new(recorder, policy, server),
            signal,
            interrupts,
            command: None,
            status,
            began,
            latest: (0, began),
            rate: 0.0,
            is_silence_said: false,
            is_done: false,
        })
    }

    /// Says what is seen, and what is waited for.
    pub(super) fn introduce(&mut self, completeness: &[String]) {
        completeness.iter().for_each(|text| self.notice(text));
        self.tell_news();
    }

    pub(super) fn start_command(&mut self) -> anyhow::Result<()> {
        self.command = Running::start(&self.args.command)?;
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// One round: what has happened since the last one.
    pub(super) fn look(&mut self) -> anyhow::Result<()> {
        if self.signal.take() {
            match self.args.is_ring() {
                true => self.saver.trigger("SIGUSR1".to_owned()),
                false => self.notice("SIGUSR1: there is no ring to save (--keep)"),
            }
        }
        self.saver.look();
        self.tell_news();
        self.show();
        let is_over = self.args.duration.is_some_and(|time| self.began.elapsed() >= time);
        self.is_done |= is_over || self.saver.has_ended();
        let interrupts = self.interrupts.load(Ordering::Relaxed);
        match &mut self.command {
            None => self.is_done |= interrupts > 0,
            Some(command) => {
                if interrupts > 0 {
                    command.interrupt();
                }
                self.is_done |= command.has_ended()? || interrupts > 1;
            }
        }
        Ok(())
    }

    fn tell_news(&mut self) {
        for text in self.saver.news() {
            self.notice(&text);
        }
    }

    fn show(&mut self) {
        let tally = self.saver.tally();
        let frames = tally.frames.get();
        let elapsed = self.latest.1.elapsed();
        if elapsed >= Duration::from_secs(1) {
            self.rate = frames.saturating_sub(self.latest.0) as f64 / elapsed.as_secs_f64();
            self.latest = (frames, now());
        }
        let mut line = status::line(tally, self.began.elapsed(), self.rate, self.args.is_ring());
        let latest = self.saver.latest();
        if !latest.is_empty() {
            line = format!("{line}  last: {latest}");
        }
        self.status.show(line);
        if frames == 0 && !self.is_silence_said && self.began.elapsed() > SILENCE {
            self.is_silence_said = true;
            let silence = SILENCE.as_secs();
            self.notice(&format!(
                "no frame in {silence} s: is the interface up? RoCE of an RDMA NIC never passes the kernel"
            ));
        }
    }

    fn notice(&self, text: &str) {
        self.status.suspend(|| notice(text));
    }

    /// Ends the recording, and writes what is asked for. Returns the exit code.
    pub(super) fn finish(self) -> anyhow::Result<u8> {
        let is_failed = self.command.as_ref().is_some_and(Running::has_failed);
        let mut reasons = Vec::new();
        for trigger in self.saver.triggers() {
            match trigger.condition {
                Condition::End => reasons.push("end: the capture ended".to_owned()),
                Condition::Fail if is_failed => {
                    let line = self.command.as_ref().map(Running::line).unwrap_or_default();
                    reasons.push(format!("fail: {line}"));
                }
                _ => {}
            }
        }
        let elapsed = self.began.elapsed();
        let Self { saver, status, command, interrupts, .. } = self;
        status.finish();
        let ended = saver.finish(reasons);
        ended.news.iter().for_each(notice);
        status::summary(&ended.tally, elapsed).iter().for_each(notice);
        ended.result?;
        match command {
            Some(command) => wait(command, &interrupts),
            None if ended.counts.failed > 0 => Ok(EXIT_UNUSABLE),
            None => Ok(0),
        }
    }
}

impl Observer for Guard<'_> {
    fn is_over(&self, _: &Session) -> bool {
        self.is_done
    }

    fn say(&mut self, text: String) {
        self.notice(&text);
    }

    fn round(&mut self, _: &mut Session) -> anyhow::Result<()> {
        self.look()
    }

    fn report(&mut self, _: &Session, analysed: Box<Analysed>) -> anyhow::Result<()> {
        self.saver.judge(&analysed);
        Ok(())
    }
}

/// Waits for the command, which may outlive the recording. Returns its exit code.
fn wait(mut command: Running, interrupts: &AtomicU32) -> anyhow::Result<u8> {
    loop {
        let interrupts = interrupts.load(Ordering::Relaxed);
        if command.has_ended()? {
            return command.exit_code();
        }
        if interrupts > 1 {
            return Ok(EXIT_INTERRUPTED);
        }
        if interrupts > 0 {
            command.interrupt();
        }
        thread::sleep(PATIENCE);
    }
}

/// The socket. Without `--socket`, a capture that cannot listen goes on.
fn listen(args: &CaptureArgs) -> anyhow::Result<Option<ControlServer>> {
    if let Some(path) = &args.ring.socket {
        let server = ControlServer::listen(path);
        return server.map(Some).with_context(|| format!("listen at {}", path.display()));
    }
    let path = ask::folder().join(format!("capture-{}.sock", std::process::id()));
    match ControlServer::listen(&path) {
        Ok(server) => Ok(Some(server)),
        Err(error) => {
            let path = path.display();
            notice(format!(
                "no socket for `railscope capture save` at {path}: {error} (--socket PATH); SIGUSR1 works"
            ));
            Ok(None)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a capture lasts for a time")]
fn now() -> Instant {
    Instant::now()
}
