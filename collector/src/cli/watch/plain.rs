//! Lines on standard output: one a training step, one a finding.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;

use super::hangup::is_hung_up;
use super::watched::Watched;
use crate::export::text::news::{self, NewsLine};
use railscope_core::report::Report;
use railscope_core::report::ledger::{Ending, Ledger};

/// How long frames are waited for before it is looked whether this is the end.
const PATIENCE: Duration = Duration::from_millis(100);

/// Writes until a signal or the end of the source, or until nobody can read it.
pub(super) fn run(mut watched: Watched, is_over: &AtomicBool) -> anyhow::Result<()> {
    let mut ledger = Ledger::default();
    while !is_over.load(Ordering::Relaxed) && !watched.is_over() {
        if is_hung_up(io::stdout()) {
            return Ok(());
        }
        let report = watched.poll(PATIENCE)?;
        for saying in watched.take_sayings() {
            // Nothing is left to tell a failing standard error to.
            let _ = writeln!(anstream::stderr(), "{saying}");
        }
        if let Some(report) = report {
            tell(&lines(&mut ledger, &report, Ending::Open))?;
        }
    }
    tell(&lines(&mut ledger, &watched.last_report(), Ending::Closed))
}

fn lines(ledger: &mut Ledger, report: &Report, ending: Ending) -> Vec<NewsLine> {
    news::lines(report, &ledger.news(report, ending))
}

fn tell(lines: &[NewsLine]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let mut write = || {
        lines.iter().try_for_each(|line| writeln!(out, "{}", line.text))?;
        out.flush()
    };
    write().context("write to standard output")
}
