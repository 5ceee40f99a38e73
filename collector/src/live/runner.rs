//! The loop of everything that is live: packets into a pipeline, reports out of it at a bounded cost.
//!
//! `watch`, `demo` and the agent differ in what they do with a report and between packets: each is an
//! [`Observer`].

use std::time::Duration;

use anyhow::Context;

use super::analyst::{Analyst, timed};
use super::session::Session;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Analysed;
use railscope_core::report::Detail;

/// How often reports are made, and how far they look back.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Least time from one report to the next.
    pub every: Duration,
    /// Reports use at most 1/`share` of a CPU.
    pub share: u32,
    /// Older messages are dropped; `None` keeps all.
    pub window: Option<Duration>,
    /// Longest wait for packets in each round.
    pub patience: Duration,
}

/// Takes reports, and does other work between packets.
pub trait Observer {
    /// Whether this was the last round.
    fn is_over(&self, session: &Session) -> bool;

    /// Takes what the user should know.
    fn say(&mut self, text: String);

    /// Does other work, once in every round.
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

    /// Takes an analysis of the state as it was when the analysis was ordered.
    ///
    /// # Errors
    ///
    /// Ends the loop.
    fn report(&mut self, session: &Session, analysed: Box<Analysed>) -> anyhow::Result<()>;

    /// Takes the state while no report is being made.
    fn rest(&mut self, _session: &Session) {}
}

/// A session, and the analyst that makes its reports on another thread.
pub struct Runner {
    session: Session,
    analyst: Analyst,
    pace: Pace,
    /// Frames that were in when the latest report was ordered, and how many of them were RoCE.
    ordered_frames: u64,
    ordered_roce: u64,
    /// Until when it looked.
    ordered_until: Option<Timestamp>,
    /// Reports since RoCE fell silent.
    silent_reports: u32,
    /// Failed analyses that were counted.
    failed: u64,
}

/// A silence of RoCE is news, because a job may hang: so many reports, and then one now and then.
const SILENT_REPORTS: u32 = 15;
const SILENCE: Duration = Duration::from_secs(1);
const LONG_SILENCE: Duration = Duration::from_secs(30);

impl Runner {
    /// Starts the analyst.
    ///
    /// # Errors
    ///
    /// The system has no thread for the analysis.
    pub fn new(session: Session, pace: Pace) -> anyhow::Result<Self> {
        let analyst = Analyst::start(pace.every, pace.share)?;
        Ok(Self {
            session,
            analyst,
            pace,
            ordered_frames: 0,
            ordered_roce: 0,
            ordered_until: None,
            silent_reports: 0,
            failed: 0,
        })
    }

    /// The session that it polls.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, to read what comes last.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs until the observer says that it is over.
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
                let (done, took) = timed(|| {
                    if let Some(window) = self.pace.window {
                        let window = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
                        self.session.slide(window, &analysed.understanding);
                    }
                    observer.report(&self.session, analysed)
                });
                self.analyst.charge(took);
                done?;
            } else if self.analyst.failed() > self.failed {
                let news = self.analyst.failed() - self.failed;
                if self.failed == 0 {
                    let words = "a report could not be made: a bug in railscope; what is seen next is reported, \
                                 and `live.reports_failed` counts such reports";
                    observer.say(words.to_owned());
                }
                self.failed += news;
                self.session.pipeline_mut().add_health(HealthEvent::LiveReportsFailed, news);
            } else if self.analyst.is_resting() {
                observer.rest(&self.session);
            }
        }
        Ok(())
    }

    /// Analyses everything that was received.
    pub fn analyse(&self) -> Analysed {
        let pipeline = self.session.pipeline().clone();
        pipeline.analyse(&self.session.context(Detail::Summary))
    }

    /// Orders a report if it is time for one and there is news.
    fn order(&mut self, has_other_news: bool) {
        let (frames, roce) = (self.session.frames(), self.session.roce_frames());
        let until = self.session.observed_until();
        let silence = until.zip(self.ordered_until).map(|(until, last)| until.nanos_since(last));
        let least = if self.silent_reports < SILENT_REPORTS { SILENCE } else { LONG_SILENCE };
        let is_long = silence.is_some_and(|silence| Duration::from_nanos(silence) >= least);
        let is_silent = roce > 0 && roce == self.ordered_roce;
        let is_urgent = is_silent && is_long;
        if frames == self.ordered_frames && !is_urgent && !has_other_news {
            return;
        }
        let context = || self.session.context(Detail::Summary);
        if self.analyst.offer(self.session.pipeline(), is_urgent, context) {
            self.silent_reports = if is_silent { self.silent_reports.saturating_add(1) } else { 0 };
            self.ordered_frames = frames;
            self.ordered_roce = roce;
            self.ordered_until = until;
            self.session.pipeline_mut().begin_interval();
        }
    }
}
