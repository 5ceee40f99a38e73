//! Runs railscope live on the ports of the job, in a separate thread.

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
use crate::live::analyst::SHARE_FOR_SCREEN;
use crate::live::packets::{self, Choice, PacketsConfig};
use crate::live::runner::{Observer, Pace, Runner};
use crate::live::session::Session;
use railscope_core::analysis::ledger::{Ending, Ledger};
use railscope_core::pipeline::Analysed;
use railscope_core::report::news::ReportNews;

/// How often reports are made.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// Longest wait for packets before checking the job.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long to wait at the end of the job for packets still in transit.
const SETTLING: Duration = Duration::from_millis(250);

/// A thread that runs railscope live.
pub(super) struct Watcher {
    is_over: Arc<AtomicBool>,
    completeness: Vec<String>,
    thread: JoinHandle<anyhow::Result<Recording>>,
}

impl Watcher {
    /// Starts capturing at ports of the calling thread's network namespace.
    pub(super) fn start(ports: &[String], folder: &Path, screen: Screen) -> anyhow::Result<Self> {
        // Kernel programs need root; the demo works without them, so there is no message.
        let config = PacketsConfig { interfaces: ports.to_vec(), ..PacketsConfig::default() };
        let source = packets::open(Choice::Auto, config)?.source;
        let mut session = Session::new(source::live_pipeline(None, None));
        session.add(source);
        let completeness = session.completeness();
        let is_over = Arc::new(AtomicBool::new(false));
        let pace = Pace {
            every: REPORT_EVERY,
            share: SHARE_FOR_SCREEN,
            // The final report covers everything.
            window: None,
            patience: PATIENCE,
        };
        let watch = Watch {
            runner: Runner::new(session, pace)?,
            recorder: Recorder::start(ports, folder)?,
            folder: folder.to_owned(),
            printer: NewsPrinter { is_over: is_over.clone(), ledger: Ledger::default(), screen },
        };
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(move || watch.run());
        Ok(Self { is_over, completeness, thread: thread.context("start a thread")? })
    }

    /// What it can and cannot see.
    pub(super) fn completeness(&self) -> &[String] {
        &self.completeness
    }

    /// Ends the thread; returns what it recorded.
    pub(super) fn finish(self) -> anyhow::Result<Recording> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("watching ended unexpectedly"))?
    }
}

/// The state of the thread.
struct Watch {
    runner: Runner,
    recorder: Recorder,
    folder: PathBuf,
    printer: NewsPrinter,
}

impl Watch {
    fn run(mut self) -> anyhow::Result<Recording> {
        let Self { runner, printer, .. } = &mut self;
        runner.run(printer)?;
        let end = now() + SETTLING;
        while now() < end {
            runner.session_mut().poll(PATIENCE, &mut |text| printer.say(text))?;
        }
        self.recorder.finish()?;
        let recording = record::finish(&self.runner, &self.folder)?;
        self.printer.show(&recording.analysed, Ending::Closed);
        Ok(recording)
    }
}

/// Prints news on the screen of the job.
struct NewsPrinter {
    is_over: Arc<AtomicBool>,
    ledger: Ledger,
    screen: Screen,
}

impl NewsPrinter {
    fn show(&mut self, analysed: &Analysed, ending: Ending) {
        let news = self.ledger.news(&analysed.understanding, ending);
        let lines = news::lines(&analysed.report, &ReportNews::new(&analysed.report, &news));
        lines.iter().for_each(|line| self.screen.say(&line.text));
    }
}

impl Observer for NewsPrinter {
    fn is_over(&self, _: &Session) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn say(&mut self, text: String) {
        self.screen.say(&text);
    }

    fn report(&mut self, _: &Session, analysed: Box<Analysed>) -> anyhow::Result<()> {
        self.show(&analysed, Ending::Open);
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "what passed last is waited for")]
fn now() -> Instant {
    Instant::now()
}
