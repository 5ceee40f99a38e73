//! One rank's process, and the thread that starts it, reads its output and reports how it ended.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::Event;
use super::ending::Ending;
use super::message::Message;
use crate::place::RankPlace;
use crate::{DriveError, Result};

/// Polling interval for the exit of a process that has closed its output.
const REAP_AGAIN: Duration = Duration::from_millis(5);

/// Lines kept of a rank's standard error, and their longest length.
const LAST_LINES: usize = 20;
const LINE_BYTES: u64 = 4096;

/// Longest message of a rank.
const MESSAGE_BYTES: u64 = 1 << 20;

/// A rank's process, to be killed.
#[derive(Clone, Debug, Default)]
pub(super) struct Handle {
    life: Arc<Mutex<Life>>,
}

/// State of the process.
#[derive(Debug, Default)]
enum Life {
    /// Not started yet.
    #[default]
    Unborn,
    Running(Child),
    /// Exited, or must not start.
    Over,
}

impl Handle {
    /// Kills the process if it runs, and prevents it from starting otherwise.
    pub(super) fn kill(&self) {
        match &mut *self.lock() {
            // Killing an exited process fails, which is fine.
            Life::Running(child) => drop(child.kill()),
            life => *life = Life::Over,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts `command` as `rank` in `place`. Its messages and its end arrive as events.
///
/// The calling thread must live as long as this process, because
/// [`die_with_parent`](crate::place::die_with_parent) kills the rank when that thread ends.
pub(super) fn start(
    rank: u32,
    place: RankPlace,
    command: Command,
    events: Sender<Event>,
) -> Handle {
    let handle = Handle::default();
    let shared = handle.clone();
    let to = events.clone();
    let live = move || {
        let ending = match spawn(&place, command, &shared) {
            Ok((stdout, stderr)) => accompany(rank, stdout, stderr, &shared, &events),
            Err(error) => Ending::NotStarted(error.to_string()),
        };
        // The receiver may have gone; then nobody needs the event.
        let _ = events.send(Event::Ended(rank, ending));
    };
    if let Err(error) = thread::Builder::new().spawn(live) {
        let _ = to.send(Event::Ended(rank, Ending::NotStarted(no_thread(error).to_string())));
    }
    handle
}

/// Forwards the process's output until it ends; returns how it ended.
fn accompany(
    rank: u32,
    stdout: ChildStdout,
    stderr: ChildStderr,
    life: &Handle,
    events: &Sender<Event>,
) -> Ending {
    let to = events.clone();
    let words = thread::Builder::new().spawn(move || last_words(rank, stderr, &to));
    let words = match words {
        Ok(words) => words,
        Err(error) => {
            life.kill();
            // The process is being ended; its exit status does not matter.
            let _ = reap(life);
            return Ending::NotStarted(no_thread(error).to_string());
        }
    };
    let said = relay(rank, stdout, events);
    let status = reap(life);
    ending(said, status, words.join().unwrap_or_default())
}

fn no_thread(error: io::Error) -> DriveError {
    DriveError::io("start a thread for a rank")(error)
}

fn spawn(
    place: &RankPlace,
    mut command: Command,
    to: &Handle,
) -> Result<(ChildStdout, ChildStderr)> {
    place.enter()?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A process group of its own: Ctrl-C is for the process that shows the table.
    command.process_group(0);
    let mut life = to.lock();
    if matches!(*life, Life::Over) {
        return Err(DriveError::Unusable("the job is over".to_owned()));
    }
    let program = command.get_program().display().to_string();
    let mut child = command.spawn().map_err(DriveError::io(format!("start {program}")))?;
    let pipes = child.stdout.take().zip(child.stderr.take());
    *life = Life::Running(child);
    pipes.ok_or_else(|| DriveError::Unusable("no pipe to a rank".to_owned()))
}

/// Forwards messages until the rank closes its output; returns what it reported about its end.
fn relay(rank: u32, stdout: ChildStdout, events: &Sender<Event>) -> Option<Ending> {
    let mut lines = BufReader::with_capacity(1 << 16, stdout);
    let mut line = Vec::new();
    let mut ending = None;
    loop {
        line.clear();
        match lines.by_ref().take(MESSAGE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return ending,
            Ok(_) => {}
        }
        match serde_json::from_slice::<Message>(&line) {
            Ok(Message::Finished) => ending = Some(Ending::Finished),
            Ok(Message::Failed(failure)) => ending = Some(Ending::Failed(failure)),
            Ok(message) => drop(events.send(Event::Said(rank, message))),
            // Something else printed to standard output; show it rather than lose it.
            Err(_) => {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                drop(events.send(Event::Noise(rank, line)));
            }
        }
    }
}

/// Forwards a rank's standard error and keeps its last lines.
fn last_words(rank: u32, stderr: ChildStderr, events: &Sender<Event>) -> VecDeque<String> {
    let mut lines = BufReader::new(stderr);
    let mut kept = VecDeque::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match lines.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return kept,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if !text.is_empty() {
            kept.push_back(text.clone());
            drop(events.send(Event::Noise(rank, text)));
        }
        if kept.len() > LAST_LINES {
            kept.pop_front();
        }
    }
}

/// Waits for a process that has closed its output; the lock is free in between, so that the process
/// can be killed.
fn reap(handle: &Handle) -> io::Result<ExitStatus> {
    loop {
        let mut life = handle.lock();
        let Life::Running(running) = &mut *life else {
            return Err(io::Error::other("it was never started"));
        };
        if let Some(status) = running.try_wait()? {
            *life = Life::Over;
            return Ok(status);
        }
        drop(life);
        thread::sleep(REAP_AGAIN);
    }
}

/// A signal is more informative than what the rank reported before.
fn ending(said: Option<Ending>, status: io::Result<ExitStatus>, words: VecDeque<String>) -> Ending {
    let status = match status {
        Ok(status) => status,
        Err(error) => return Ending::NotStarted(error.to_string()),
    };
    if let Some(signal) = status.signal() {
        let known = Signal::try_from(signal).map(Signal::as_str);
        let name = known.map_or_else(|_| format!("signal {signal}"), str::to_owned);
        return Ending::Signal { name };
    }
    let code = status.code().unwrap_or(-1);
    match said {
        Some(said @ Ending::Failed(_)) => said,
        Some(Ending::Finished) if code == 0 => Ending::Finished,
        _ => Ending::Exit { code, last_words: panic_message(&words) },
    }
}

/// A panic has two lines, the second with the message; hints of the runtime follow.
fn panic_message(words: &VecDeque<String>) -> Option<String> {
    let panic = words.iter().rposition(|line| line.contains(" panicked at "));
    let said = panic.and_then(|at| words.get(at + 1));
    said.or(words.back()).cloned()
}
