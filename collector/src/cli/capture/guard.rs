//! Watches a recording: triggers, signals, clients, the command, the status line.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::args::CaptureArgs;
use super::command::Running;
use super::signal::SaveSignal;
use super::{ask, output, status};
use crate::cli::exit_code::{EXIT_INTERRUPTED, EXIT_UNUSABLE};
use crate::cli::progress::StatusLine;
use crate::live::runner::Observer;
use crate::live::session::Session;
use crate::record::control::{Answer, ControlServer};
use crate::record::recorder::Recorder;
use crate::record::save::Saved;
use crate::record::trigger::{Condition, Judge, LogWatch};
use railscope_core::pipeline::Analysed;

/// Longest time between two looks.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);

/// Silence after which it is mentioned.
const SILENCE: Duration = Duration::from_secs(5);

/// Everything around a recording.
pub(super) struct Guard<'a> {
    args: &'a CaptureArgs,
    recorder: Recorder,
    judge: Judge,
    logs: Vec<(LogWatch, String)>,
    server: Option<ControlServer>,
    signal: SaveSignal,
    interrupts: Arc<AtomicU32>,
    command: Option<Running>,
    status: StatusLine,
    began: Instant,
    /// Frames at the latest look, and when it was.
    latest: (u64, Instant),
    rate: f64,
    /// Saves that were begun.
    saves: u32,
    failures: u32,
    /// The latest trigger or save, for the status line.
    last: String,
    is_silence_said: bool,
    is_done: bool,
}

impl<'a> Guard<'a> {
    pub(super) fn new(
        args: &'a CaptureArgs,
        recorder: Recorder,
        signal: SaveSignal,
        interrupts: Arc<AtomicU32>,
    ) -> anyhow::Result<Self> {
        let logs = args.ring.on.iter().filter_map(|trigger| match &trigger.condition {
            Condition::Log(path, regex) => {
                Some((LogWatch::new(path, (**regex).clone()), trigger.text.clone()))
            }
            _ => None,
        });
        let began = now();
        // A command has the terminal for itself.
        let status = if args.command.is_empty() { StatusLine::new() } else { StatusLine::hidden() };
        Ok(Self {
            args,
            recorder,
            judge: Judge::new(args.ring.on.clone()),
            logs: logs.collect(),
            server: if args.is_ring() { listen(args)? } else { None },
            signal,
            interrupts,
            command: None,
            status,
            began,
            latest: (0, began),
            rate: 0.0,
            saves: 0,
            failures: 0,
            last: String::new(),
            is_silence_said: false,
            is_done: false,
        })
    }

    /// Says what is seen, and what is waited for.
    pub(super) fn introduce(&mut self, completeness: &[String]) {
        completeness.iter().for_each(|text| self.tell(text));
        let removed = self.recorder.removed();
        if removed > 0 {
            self.tell(&format!(
                "removed {removed} segments that an earlier capture left in the ring"
            ));
        }
        let missing: Vec<_> = self.logs.iter().filter(|(log, _)| !log.is_open()).collect();
        let missing: Vec<_> = missing.iter().map(|(_, text)| text.clone()).collect();
        for text in missing {
            self.tell(&format!("--on {text}: there is no such file yet; waiting for it"));
        }
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
        for notice in self.recorder.tally().take_notices() {
            self.tell(&notice);
        }
        self.ask_triggers();
        for result in self.recorder.saved() {
            self.take(result);
        }
        self.show();
        let is_full = self.saves >= self.args.ring.max_saves && !self.recorder.is_saving();
        let is_over = self.args.duration.is_some_and(|time| self.began.elapsed() >= time);
        self.is_done |= is_full || is_over || self.recorder.has_ended();
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

    fn ask_triggers(&mut self) {
        if self.signal.take() {
            match self.args.is_ring() {
                true => self.trigger("SIGUSR1".to_owned(), None),
                false => self.tell("SIGUSR1: there is no ring to save (--keep)"),
            }
        }
        let mut reasons = Vec::new();
        for (log, _) in &mut self.logs {
            reasons.extend(log.matching().map(|line| format!("log: {line}")));
        }
        reasons.into_iter().for_each(|reason| self.trigger(reason, None));
        // The answer to a client is its own file's.
        if self.recorder.is_writing() {
            return;
        }
        let requests = self.server.as_mut().map(ControlServer::requests).unwrap_or_default();
        for request in requests {
            let reason = request.reason.unwrap_or_else(|| "asked over the socket".to_owned());
            let reason = reason.chars().filter(|c| !c.is_control()).take(400).collect::<String>();
            self.trigger(format!("save: {reason}"), request.after_ms.map(Duration::from_millis));
        }
    }

    /// Saves the ring for a reason.
    fn trigger(&mut self, reason: String, after: Option<Duration>) {
        let (args, after) = (self.args, after.unwrap_or(self.args.ring.after));
        if self.saves >= args.ring.max_saves {
            return;
        }
        let mut path = |time| output::path(args, &reason, time);
        let is_new = self.recorder.save(reason.clone(), after, &mut path);
        self.last.clone_from(&reason);
        match is_new {
            true => {
                self.saves += 1;
                self.tell(&format!("trigger: {reason}; saving in {:.1} s", after.as_secs_f64()));
            }
            false => self.tell(&format!("trigger: {reason}; joins the save under way")),
        }
    }

    fn take(&mut self, result: anyhow::Result<Saved>) {
        let answer = match result {
            Ok(saved) => {
                let line = saved.line();
                self.tell(&line);
                self.last.clone_from(&line);
                Answer::Saved(line)
            }
            Err(error) => {
                self.failures += 1;
                let problem = format!("{error:#}");
                self.tell(&format!("error: not saved: {problem}"));
                Answer::Error(problem)
            }
        };
        if let Some(server) = &mut self.server {
            server.answer(&answer);
        }
    }

    fn show(&mut self) {
        let tally = self.recorder.tally();
        let frames = tally.frames.get();
        let elapsed = self.latest.1.elapsed();
        if elapsed >= Duration::from_secs(1) {
            self.rate = frames.saturating_sub(self.latest.0) as f64 / elapsed.as_secs_f64();
            self.latest = (frames, now());
        }
        let mut line = status::line(tally, self.began.elapsed(), self.rate, self.args.is_ring());
        if !self.last.is_empty() {
            line = format!("{line}  last: {}", self.last);
        }
        self.status.show(line);
        if frames == 0 && !self.is_silence_said && self.began.elapsed() > SILENCE {
            self.is_silence_said = true;
            let silence = SILENCE.as_secs();
            self.tell(&format!(
                "no frame in {silence} s: is the interface up? RoCE of an RDMA NIC never passes the kernel"
            ));
        }
    }

    fn tell(&self, text: &str) {
        // A failing standard error cannot be reported anywhere.
        self.status.suspend(|| _ = writeln!(anstream::stderr(), "{text}"));
    }

    /// Ends the recording, and writes what is asked for. Returns the exit code.
    pub(super) fn finish(mut self) -> anyhow::Result<u8> {
        let is_failed = self.command.as_ref().is_some_and(Running::has_failed);
        let mut reasons = Vec::new();
        for trigger in &self.args.ring.on {
            match trigger.condition {
                Condition::End => reasons.push("end: the capture ended".to_owned()),
                Condition::Fail if is_failed => {
                    let line = self.command.as_ref().map(Running::line).unwrap_or_default();
                    reasons.push(format!("fail: {line}"));
                }
                _ => {}
            }
        }
        reasons.into_iter().for_each(|reason| self.trigger(reason, Some(Duration::ZERO)));
        let elapsed = self.began.elapsed();
        let Self { recorder, status, server, command, interrupts, .. } = self;
        status.finish();
        let mut server = server;
        let tell = |text: &str| _ = writeln!(anstream::stderr(), "{text}");
        let finished = recorder.finish();
        let mut failures = self.failures;
        for result in finished.saves {
            let answer = match result {
                Ok(saved) => Answer::Saved(saved.line()),
                Err(error) => Answer::Error(format!("{error:#}")),
            };
            match &answer {
                Answer::Saved(line) => tell(line),
                Answer::Error(problem) => {
                    failures += 1;
                    tell(&format!("error: not saved: {problem}"));
                }
            }
            if let Some(server) = &mut server {
                server.answer(&answer);
            }
        }
        status::summary(&finished.tally, elapsed).iter().for_each(|line| tell(line));
        finished.result?;
        match command {
            Some(command) => wait(command, &interrupts),
            None if failures > 0 => Ok(EXIT_UNUSABLE),
            None => Ok(0),
        }
    }
}

impl Observer for Guard<'_> {
    fn is_over(&self, _: &Session) -> bool {
        self.is_done
    }

    fn say(&mut self, text: String) {
        self.tell(&text);
    }

    fn round(&mut self, _: &mut Session) -> anyhow::Result<()> {
        self.look()
    }

    fn report(&mut self, _: &Session, analysed: Box<Analysed>) -> anyhow::Result<()> {
        for reason in self.judge.judge(&analysed) {
            self.trigger(reason, None);
        }
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
            // A failing standard error cannot be reported anywhere.
            _ = writeln!(
                anstream::stderr(),
                "no socket for `railscope capture save` at {path}: {error} (--socket PATH); SIGUSR1 works"
            );
            Ok(None)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a capture lasts for a time")]
fn now() -> Instant {
    Instant::now()
}
