//! Decides when the ring is saved, and says what became of it: triggers, lines in logs, clients of the socket.

use std::time::Duration;

use super::control::{Answer, ControlServer};
use super::file_names::FileNames;
use super::recorder::{Finished, Recorder};
use super::save::Saved;
use super::tally::Tally;
use super::trigger::{Judge, LogWatch};
use crate::trigger::{Condition, Trigger};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Analysed;
use railscope_core::report::words::number::counted;

/// Characters of what a client says.
const REASON_CHARS: usize = 400;

/// When to save, and where to.
pub struct SavePolicy {
    /// What to wait for.
    pub triggers: Vec<Trigger>,
    /// How long to record on before saving.
    pub after: Duration,
    /// The files.
    pub names: FileNames,
    /// How many.
    pub limit: Limit,
}

/// What keeps saves from filling the disk.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// This many saves since the start; then the recording ends.
    Saves(u32),
    /// As long as the folder has fewer files than this, and triggers save no more often than once in `pause`:
    /// files that somebody takes away make room.
    Files {
        /// Most files.
        most: usize,
        /// Shortest time between two saves by triggers.
        pause: Duration,
    },
}

/// Saves since the start, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveCounts {
    /// Begun.
    pub begun: u32,
    /// Written.
    pub saved: u32,
    /// Not written, for an error.
    pub failed: u32,
    /// Not begun, for the limit.
    pub refused: u32,
}

/// A recording, and what makes it save.
pub struct Saver {
    recorder: Recorder,
    policy: SavePolicy,
    judge: Judge,
    logs: Vec<(LogWatch, String)>,
    server: Option<ControlServer>,
    counts: SaveCounts,
    /// When a trigger last began a save.
    triggered: Option<Timestamp>,
    /// The latest trigger or save, in words.
    latest: String,
    /// What the user should know.
    news: Vec<String>,
}

impl Saver {
    /// Around a running recording; `server` is for clients that ask.
    #[must_use]
    pub fn new(recorder: Recorder, policy: SavePolicy, server: Option<ControlServer>) -> Self {
        let logs = policy.triggers.iter().filter_map(|trigger| match &trigger.condition {
            Condition::Log(path, regex) => {
                Some((LogWatch::new(path, (**regex).clone()), trigger.text.clone()))
            }
            _ => None,
        });
        let mut saver = Self {
            logs: logs.collect(),
            judge: Judge::new(policy.triggers.clone()),
            recorder,
            policy,
            server,
            counts: SaveCounts::default(),
            triggered: None,
            latest: String::new(),
            news: Vec::new(),
        };
        saver.introduce();
        saver
    }

    fn introduce(&mut self) {
        let removed = self.recorder.removed();
        if removed > 0 {
            self.news.push(format!(
                "removed {removed} segments that an earlier recording left in the ring"
            ));
        }
        let missing = self.logs.iter().filter(|(log, _)| !log.is_open());
        let waiting =
            missing.map(|(_, text)| format!("{text}: there is no such file yet; waiting for it"));
        self.news.extend(waiting.collect::<Vec<_>>());
    }

    /// One round: what has happened since the last one.
    pub fn look(&mut self) {
        self.news.extend(self.recorder.tally().take_notices());
        let mut reasons = Vec::new();
        for (log, _) in &mut self.logs {
            reasons.extend(log.matching().map(|line| format!("log: {line}")));
        }
        reasons.into_iter().for_each(|reason| self.trigger(reason));
        self.ask_clients();
        for result in self.recorder.saved() {
            self.take(result);
        }
    }

    /// Saves if the analysis has what a trigger waits for.
    pub fn judge(&mut self, analysed: &Analysed) {
        for reason in self.judge.judge(analysed) {
            self.trigger(reason);
        }
    }

    /// Saves the ring, and what comes after, for this reason.
    pub fn trigger(&mut self, reason: String) {
        let now = super::now();
        // A save whose time has not come is joined.
        let triggered = self.triggered.filter(|_| !self.recorder.is_pending());
        if let (Limit::Files { pause, .. }, Some(before)) = (self.policy.limit, triggered) {
            let since = Duration::from_nanos(now.nanos_since(before));
            if since < pause {
                self.counts.refused += 1;
                let ago = since.as_secs();
                self.news.push(format!("trigger: {reason}; not saved: the ring was, {ago} s ago"));
                return;
            }
        }
        if self.save(reason, self.policy.after).is_ok() {
            self.triggered = Some(now);
        }
    }

    fn ask_clients(&mut self) {
        // The answer to a client is its own file's.
        if self.recorder.is_writing() {
            return;
        }
        let requests = self.server.as_mut().map(ControlServer::requests).unwrap_or_default();
        for request in requests {
            let reason = request.reason.unwrap_or_else(|| "asked over the socket".to_owned());
            let plain = reason.chars().filter(|c| !c.is_control()).take(REASON_CHARS);
            let reason = format!("save: {}", plain.collect::<String>());
            let after = request.after_ms.map_or(self.policy.after, Duration::from_millis);
            if let Err(problem) = self.save(reason, after) {
                self.answer(&Answer::Error(problem));
            }
        }
    }

    /// Begins a save, or joins one.
    fn save(&mut self, reason: String, after: Duration) -> Result<(), String> {
        if let Err(problem) = self.room() {
            self.counts.refused += 1;
            self.news.push(format!("trigger: {reason}; not saved: {problem}"));
            return Err(problem);
        }
        let names = &self.policy.names;
        let is_new =
            self.recorder.save(reason.clone(), after, &mut |time| names.next(&reason, time));
        self.counts.begun += u32::from(is_new);
        self.news.push(match is_new {
            true => format!("trigger: {reason}; saving in {:.1} s", after.as_secs_f64()),
            false => format!("trigger: {reason}; joins the save under way"),
        });
        self.latest = reason;
        Ok(())
    }

    /// Whether one more file may be written.
    fn room(&self) -> Result<(), String> {
        if self.recorder.is_pending() {
            return Ok(());
        }
        match self.policy.limit {
            Limit::Saves(most) if self.good_saves() < most => Ok(()),
            Limit::Saves(most) => {
                Err(format!("the limit of {} is reached", counted(most.into(), "save")))
            }
            Limit::Files { most, .. } => {
                let folder = self.policy.names.folder().display();
                match self.policy.names.count() {
                    Ok(count) if count < most => Ok(()),
                    Ok(count) => {
                        let files = counted(count as u64, "file");
                        Err(format!("{folder} has {files}; move them away to make room"))
                    }
                    Err(error) => Err(format!("{folder}: {error}")),
                }
            }
        }
    }

    /// Saves that were written, or may still be.
    fn good_saves(&self) -> u32 {
        self.counts.begun.saturating_sub(self.counts.failed)
    }

    fn take(&mut self, result: anyhow::Result<Saved>) {
        let answer = match result {
            Ok(saved) => {
                self.counts.saved += 1;
                let line = saved.line();
                self.news.push(line.clone());
                self.latest.clone_from(&line);
                Answer::Saved(line)
            }
            Err(error) => {
                self.counts.failed += 1;
                let problem = format!("{error:#}");
                self.news.push(format!("error: not saved: {problem}"));
                Answer::Error(problem)
            }
        };
        self.answer(&answer);
    }

    fn answer(&mut self, answer: &Answer) {
        if let Some(server) = &mut self.server {
            server.answer(answer);
        }
    }

    /// What the user should know, since the last call.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// The latest trigger or save, in words; empty before the first.
    #[must_use]
    pub fn latest(&self) -> &str {
        &self.latest
    }

    /// What is waited for.
    #[must_use]
    pub fn triggers(&self) -> &[Trigger] {
        &self.policy.triggers
    }

    /// What was recorded.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        self.recorder.tally()
    }

    /// What was saved.
    #[must_use]
    pub const fn counts(&self) -> SaveCounts {
        self.counts
    }

    /// Whether it has come to its end: the last save is written, or the recording ended by itself.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let is_full = match self.policy.limit {
            Limit::Saves(most) => self.good_saves() >= most && !self.recorder.is_saving(),
            Limit::Files { .. } => false,
        };
        is_full || self.recorder.has_ended()
    }

    /// Ends the recording; saves first for each of `reasons`. The news has what became of it.
    pub fn finish(mut self, reasons: Vec<String>) -> Ended {
        for reason in reasons {
            // What became of it is in the news.
            _ = self.save(reason, Duration::ZERO);
        }
        let Self { recorder, server, counts, news, .. } = self;
        let Finished { saves, kept, tally, result } = recorder.finish();
        let mut ended = Ended { counts, news, tally, result };
        let mut server = server;
        for result in saves {
            let answer = match result {
                Ok(saved) => {
                    ended.counts.saved += 1;
                    ended.news.push(saved.line());
                    Answer::Saved(saved.line())
                }
                Err(error) => {
                    ended.counts.failed += 1;
                    ended.news.push(format!("error: not saved: {error:#}"));
                    Answer::Error(format!("{error:#}"))
                }
            };
            if let Some(server) = &mut server {
                server.answer(&answer);
            }
        }
        if let Some(folder) = kept {
            let folder = folder.display();
            ended.news.push(format!(
                "the ring is kept, until the next recording in this folder: railscope analyze \
                 {folder}/*.pcapng.zst"
            ));
        }
        ended
    }
}

/// A recording that has ended.
pub struct Ended {
    /// What was saved.
    pub counts: SaveCounts,
    /// What the user should know.
    pub news: Vec<String>,
    /// What was recorded.
    pub tally: std::sync::Arc<Tally>,
    /// Whether the interfaces and the file worked to the end.
    pub result: anyhow::Result<()>,
}
