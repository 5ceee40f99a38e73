//! railscope live on the ports of the job, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use super::record::{self, Recorder, Recording};
use super::show::Screen;
use crate::cli::source;
use crate::export::text::news;
use crate::live::analyst::{Analyst, SHARE_FOR_SCREEN};
use crate::live::packets::{self, Choice};
use crate::live::session::Session;
use railscope_core::report::ledger::{Ending, Ledger};
use railscope_core::report::{Detail, Report};

/// How often reports are made.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// How long packets are waited for before the job is looked after.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long what has passed when the job ends may still take to arrive.
const SETTLING: Duration = Duration::from_millis(250);

/// A thread that watches.
pub(super) struct Watcher {
    is_over: Arc<AtomicBool>,
    completeness: Vec<String>,
    thread: JoinHandle<anyhow::Result<Recording>>,
}

impl Watcher {
    /// Begins to watch ports of the calling thread's network namespace.
    pub(super) fn start(ports: &[String], folder: &Path, screen: Screen) -> anyhow::Result<Self> {
        // Without root there are no kernel programs, which is no news to anybody.
        let source = packets::open(Choice::Auto, ports.to_vec(), None, false)?.source;
        let mut session = Session::new(source::live_pipeline(None));
        session.add(source);
        let completeness = session.completeness();
        let is_over = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            session,
            recorder: Recorder::start(ports, folder)?,
            analyst: Analyst::start(REPORT_EVERY, SHARE_FOR_SCREEN)?,
            ledger: Ledger::default(),
            screen,
            folder: folder.to_owned(),
        };
        let over = is_over.clone();
        let thread =
            thread::Builder::new().name("watch".to_owned()).spawn(move || watch.run(&over));
        Ok(Self { is_over, completeness, thread: thread.context("start a thread")? })
    }

    /// What it can and cannot see.
    pub(super) fn completeness(&self) -> &[String] {
        &self.completeness
    }

    /// What was seen until now.
    pub(super) fn finish(self) -> anyhow::Result<Recording> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("watching ended unexpectedly"))?
    }
}

/// What the thread has.
struct Watch {
    session: Session,
    recorder: Recorder,
    analyst: Analyst,
    ledger: Ledger,
    screen: Screen,
    folder: PathBuf,
}

impl Watch {
    fn run(mut self, is_over: &AtomicBool) -> anyhow::Result<Recording> {
        while !is_over.load(Ordering::Relaxed) {
            self.poll()?;
            let context = || self.session.context(Detail::Summary);
            self.analyst.offer(self.session.pipeline(), context);
            if let Some(analysed) = self.analyst.take()? {
                tell(&mut self.ledger, &analysed.report, Ending::Open, &self.screen);
            }
        }
        let end = now() + SETTLING;
        while now() < end {
            self.poll()?;
        }
        self.recorder.finish()?;
        let recording = record::finish(&self.session, &self.folder)?;
        tell(&mut self.ledger, &recording.report, Ending::Closed, &self.screen);
        Ok(recording)
    }

    fn poll(&mut self) -> anyhow::Result<()> {
        let Self { session, screen, .. } = self;
        let polled = session.poll(PATIENCE, &mut |_| {}, &mut |text| screen.say(&text));
        polled.context("watch the ports")
    }
}

fn tell(ledger: &mut Ledger, report: &Report, ending: Ending, screen: &Screen) {
    let lines = news::lines(report, &ledger.news(report, ending));
    lines.iter().for_each(|line| screen.say(&line.text));
}

#[expect(clippy::disallowed_methods, reason = "what passed last is waited for")]
fn now() -> Instant {
    Instant::now()
}
