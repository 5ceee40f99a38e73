//! Lines on standard output, one per training step and one per finding.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;

use super::args::WatchArgs;
use super::hangup::is_hung_up;
use super::sampled::Sampled;
use super::silence::Silence;
use crate::cli::notice::notice;
use crate::export::text::news::{self, NewsLine};
use crate::live::runner::{Observer, Runner};
use crate::live::session::Session;
use crate::printable::printable;
use railscope_core::analysis::ledger::{Ending, Ledger};
use railscope_core::pipeline::Analysed;
use railscope_core::report::news::ReportNews;

/// Longest wait for frames before checking whether to end.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes until a signal, the end of the source, or the end of the reader.
pub(super) fn run(session: Session, args: &WatchArgs, is_over: &AtomicBool) -> anyhow::Result<()> {
    let (ledger, silence, sampled) = (Ledger::default(), Silence::begin(), Sampled::default());
    let mut lines = Lines { is_over, ledger, silence, sampled };
    session.completeness().into_iter().for_each(|text| lines.say(text));
    let mut runner = Runner::new(session, args.pace(PATIENCE))?;
    runner.run(&mut lines)?;
    if is_hung_up(io::stdout()) {
        return Ok(());
    }
    write(&lines.news(&runner.analyse(), Ending::Closed))
}

/// What was written.
struct Lines<'a> {
    is_over: &'a AtomicBool,
    ledger: Ledger,
    silence: Silence,
    sampled: Sampled,
}

impl Lines<'_> {
    fn news(&mut self, analysed: &Analysed, ending: Ending) -> Vec<NewsLine> {
        let news = self.ledger.news(&analysed.understanding, ending);
        let mut lines = news::lines(&analysed.report, &ReportNews::new(&analysed.report, &news));
        lines.extend(self.sampled.lines(&analysed.report, ending == Ending::Closed));
        lines
    }
}

impl Observer for Lines<'_> {
    fn is_over(&self, session: &Session) -> bool {
        self.is_over.load(Ordering::Relaxed) || session.is_over() || is_hung_up(io::stdout())
    }

    fn say(&mut self, text: String) {
        notice(text);
    }

    fn round(&mut self, session: &mut Session) -> anyhow::Result<()> {
        if let Some(hint) = self.silence.hint(session) {
            self.say(hint);
        }
        Ok(())
    }

    fn report(&mut self, _: &Session, analysed: Box<Analysed>) -> anyhow::Result<()> {
        write(&self.news(&analysed, Ending::Open))
    }
}

fn write(lines: &[NewsLine]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let mut write = || {
        lines.iter().try_for_each(|line| writeln!(out, "{}", printable(&line.text)))?;
        out.flush()
    };
    write().context("write to standard output")
}
