//! A live source, the reports that are made of it, and what it says beside them.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::WatchArgs;
use crate::cli::source;
use crate::ingest::live::LiveSource;
use crate::live::analyst::{Analyst, SHARE_FOR_SCREEN};
use crate::live::session::Session;
use railscope_core::report::{Detail, Report};

/// How long nothing may come before it is said why that may be.
const SILENCE: Duration = Duration::from_secs(5);

/// What is watched.
pub(super) struct Watched {
    session: Session,
    analyst: Analyst,
    window_ns: u64,
    /// Frames that were in the last report that was ordered.
    ordered_frames: u64,
    began: Instant,
    is_silence_told: bool,
    /// What the user should know.
    sayings: Vec<String>,
}

impl Watched {
    pub(super) fn new(source: Box<dyn LiveSource>, args: &WatchArgs) -> anyhow::Result<Self> {
        let mut session = Session::new(source::live_pipeline(args.line_rate));
        session.add(source);
        let sayings = session.completeness();
        Ok(Self {
            session,
            analyst: Analyst::start(args.every, SHARE_FOR_SCREEN)?,
            window_ns: u64::try_from(args.window.as_nanos()).unwrap_or(u64::MAX),
            ordered_frames: 0,
            began: now(),
            is_silence_told: false,
            sayings,
        })
    }

    /// Takes in what comes within `patience`; a report when one is ready.
    pub(super) fn poll(&mut self, patience: Duration) -> anyhow::Result<Option<Box<Report>>> {
        let Self { session, sayings, .. } = self;
        let polled = session.poll(patience, &mut |_| {}, &mut |text| sayings.push(text));
        polled.context("watch")?;
        let frames = session.frames();
        if frames > self.ordered_frames {
            let context = || session.context(Detail::Summary);
            if self.analyst.offer(session.pipeline(), context) {
                self.ordered_frames = frames;
            }
        } else if frames == 0 && !self.is_silence_told && self.began.elapsed() > SILENCE {
            self.is_silence_told = true;
            sayings.push(format!("no frame in {} s", SILENCE.as_secs()));
        }
        let Some(analysed) = self.analyst.take()? else { return Ok(None) };
        session.slide(self.window_ns, &analysed.understanding);
        Ok(Some(Box::new(analysed.report)))
    }

    /// The report of all that was taken in.
    pub(super) fn last_report(&self) -> Report {
        self.session.pipeline().report(self.session.context(Detail::Summary))
    }

    /// What the user should know, once.
    pub(super) fn take_sayings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.sayings)
    }

    /// Whether nothing will ever come again.
    pub(super) fn is_over(&self) -> bool {
        self.session.is_over()
    }
}

#[expect(clippy::disallowed_methods, reason = "silence is told after a while")]
fn now() -> Instant {
    Instant::now()
}
