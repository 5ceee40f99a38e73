//! Supervises a job until all ranks are done, one fails or the user interrupts it.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::child::{self, Handle};
use super::ending::{Ending, blame};
use super::{Event, Message};
use crate::Result;
use crate::clock::Deadline;
use crate::place::RankPlace;

/// Time for other ranks to report their errors after one has failed: the first to report is often
/// not the first to fail.
const GRACE: Duration = Duration::from_millis(250);

/// Time limit for killed processes to exit.
const BURIAL: Duration = Duration::from_secs(5);

/// Receives the messages of ranks.
pub trait Audience {
    /// A rank sent a message.
    ///
    /// # Errors
    /// It cannot be shown or written any more: end the job.
    fn hear(&mut self, rank: u32, message: Message) -> Result<()>;

    /// A notice for the user.
    fn note(&mut self, text: &str);
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All ranks succeeded.
    Done,
    /// The user interrupted it.
    Interrupted,
    /// A rank failed: which, and why.
    Failed(String),
}

/// Running ranks.
#[derive(Debug)]
pub struct Ranks {
    running: BTreeSet<u32>,
    processes: Vec<Handle>,
    /// Longest time between the first and the last rank's end; processes always end.
    patience: Option<Duration>,
}

impl Ranks {
    /// Starts a process for each rank, in its place.
    pub fn start(
        ranks: impl IntoIterator<Item = (u32, RankPlace, Command)>,
        to: &Sender<Event>,
    ) -> Self {
        let mut started = Self { running: BTreeSet::new(), processes: Vec::new(), patience: None };
        for (rank, place, command) in ranks {
            started.running.insert(rank);
            started.processes.push(child::start(rank, place, command, to.clone()));
        }
        started
    }

    /// Ranks that somebody else started: once one is done, all must be done within `patience`.
    pub fn elsewhere(ranks: impl IntoIterator<Item = u32>, patience: Duration) -> Self {
        let running = ranks.into_iter().collect();
        Self { running, processes: Vec::new(), patience: Some(patience) }
    }

    fn kill(&self) {
        self.processes.iter().for_each(Handle::kill);
    }
}

/// Handles events until the job has ended and none of its processes is left.
///
/// # Errors
/// Errors of `audience`.
pub fn supervise(
    mut ranks: Ranks,
    events: &Receiver<Event>,
    audience: &mut dyn Audience,
) -> Result<Outcome> {
    let result = listen(&mut ranks, events, audience);
    ranks.kill();
    // Earlier messages still count, such as records of the truth file.
    let burial = Deadline::after(BURIAL);
    while !ranks.processes.is_empty() && !ranks.running.is_empty() && !burial.left().is_zero() {
        match events.recv_timeout(burial.left()) {
            Ok(Event::Ended(rank, _)) => drop(ranks.running.remove(&rank)),
            Ok(Event::Said(rank, message)) if result.is_ok() => audience.hear(rank, message)?,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    result
}

fn listen(
    ranks: &mut Ranks,
    events: &Receiver<Event>,
    audience: &mut dyn Audience,
) -> Result<Outcome> {
    let mut endings: Vec<(u32, Ending)> = Vec::new();
    let mut limit: Option<Deadline> = None;
    let is_over = |limit: &Option<Deadline>| limit.is_some_and(|limit| limit.left().is_zero());
    while !ranks.running.is_empty() && !is_over(&limit) {
        let event = match &limit {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(limit) => events.recv_timeout(limit.left()),
        };
        match event {
            Ok(Event::Said(rank, message)) => audience.hear(rank, message)?,
            Ok(Event::Noise(rank, line)) => audience.note(&format!("rank {rank}: {line}")),
            Ok(Event::Ended(rank, ending)) => {
                ranks.running.remove(&rank);
                let is_first = blame(&endings).is_none();
                match ending {
                    Ending::Finished if limit.is_none() => {
                        limit = ranks.patience.map(Deadline::after);
                    }
                    Ending::Finished => {}
                    _ if is_first => limit = Some(Deadline::after(GRACE)),
                    _ => {}
                }
                endings.push((rank, ending));
            }
            Ok(Event::Interrupted) => return Ok(Outcome::Interrupted),
            Err(_) => break,
        }
    }
    Ok(match blame(&endings) {
        Some(reason) => Outcome::Failed(reason),
        None if ranks.running.is_empty() => Outcome::Done,
        None => {
            let silent: Vec<_> = ranks.running.iter().map(u32::to_string).collect();
            Outcome::Failed(format!(
                "rank {} did not say that it is done, as others did",
                silent.join(", rank ")
            ))
        }
    })
}
