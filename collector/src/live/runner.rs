//! The loop of everything that is live: packets into a pipeline, reports out of it at a bounded cost.
//!
//! `watch`, `demo` and the agent differ in what they do with a report and in what else they look after:
//! each is an [`Observer`].

use std::time::Duration;

use anyhow::Context;

use super::analyst::{Analysed, Analyst, timed};
use super::session::Session;
use railscope_core::report::{Detail, Report};

/// How often reports are made, and how far they look back.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// At most one report in so long.
    pub every: Duration,
    /// Of one CPU, reports take at most one part in so many.
    pub share: u32,
    /// Older messages are forgotten; `None` keeps all.
    pub window: Option<Duration>,
    /// How long packets are waited for before other things are looked after.
    pub patience: Duration,
}

/// Who takes what is seen, and looks after other things in between.
pub trait Observer {
    /// Whether this was the last round.
    fn is_over(&self, session: &Session) -> bool;

    /// Takes what the user should know.
    fn say(&mut self, text: String);

    /// Looks after other things, once in every round.
    ///
    /// # Errors
    ///
    /// Ends the loop.
    fn round(&mut self, _session: &mut Session) -> anyhow::Result<()> {
        Ok(())
    }

    /// Whether a report would have something new although no packet has come since the latest.
    fn has_other_news(&self) -> bool {
        false
    }

    /// Takes a report on the state as it was when the report was ordered.
    ///
    /// # Errors
    ///
    /// Ends the loop.
    fn report(&mut self, session: &Session, report: Box<Report>) -> anyhow::Result<()>;

    /// Takes the state, where there is a report on it already and none is being made.
    fn rest(&mut self, _session: &Session) {}
}

/// A session whose reports are made beside it.
pub struct Runner {
    session: Session,
    analyst: Analyst,
    pace: Pace,
    /// Frames that were in when the latest report was ordered.
    ordered_frames: u64,
}

impl Runner {
    /// Makes ready to run.
    ///
    /// # Errors
    ///
    /// The system has no thread for the analysis.
    pub fn new(session: Session, pace: Pace) -> anyhow::Result<Self> {
        let analyst = Analyst::start(pace.every, pace.share)?;
        Ok(Self { session, analyst, pace, ordered_frames: 0 })
    }

    /// What is seen.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What is seen, to take in what comes last.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Goes round until the observer has enough.
    ///
    /// # Errors
    ///
    /// A source or the analysis cannot go on, or the observer fails.
    pub fn run(&mut self, observer: &mut dyn Observer) -> anyhow::Result<()> {
        while !observer.is_over(&self.session) {
            let polled = self.session.poll(self.pace.patience, &mut |text| observer.say(text));
            polled.context("read packets")?;
            observer.round(&mut self.session)?;
            self.order(observer.has_other_news());
            if let Some(analysed) = self.analyst.take()? {
                let Analysed { understanding, report } = *analysed;
                let (done, took) = timed(|| {
                    if let Some(window) = self.pace.window {
                        let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
                        self.session.slide(window, &understanding);
                    }
                    observer.report(&self.session, Box::new(report))
                });
                self.analyst.charge(took);
                done?;
            } else if self.analyst.is_resting() {
                observer.rest(&self.session);
            }
        }
        Ok(())
    }

    /// The report on all that was taken in.
    pub fn last_report(&self) -> Report {
        self.session.pipeline().report(self.session.context(Detail::Summary))
    }

    /// Orders a report, if it is time for one and it would have anything new.
    fn order(&mut self, has_other_news: bool) {
        let frames = self.session.frames();
        if frames == self.ordered_frames && !has_other_news {
            return;
        }
        let context = || self.session.context(Detail::Summary);
        if self.analyst.offer(self.session.pipeline(), context) {
            self.ordered_frames = frames;
        }
    }
}
