//! Reports made beside the traffic: the analysis of what was seen so far may take longer than the
//! room for new frames lasts, so a thread of its own does it on a copy of the state.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::pipeline::Pipeline;
use crate::report::{Report, ReportContext};

/// Of the time, analysis takes at most one part in so many.
const SHARE: u32 = 4;

/// A thread that makes reports, one at a time.
pub struct Analyst {
    orders: Sender<(Pipeline, ReportContext)>,
    reports: Receiver<Box<Report>>,
    /// When the report that is being made was ordered.
    ordered: Option<Instant>,
    /// Not before.
    next: Option<Instant>,
    every: Duration,
}

impl Analyst {
    /// Begins to wait for orders; makes a report at most once in `every`.
    pub fn start(every: Duration) -> anyhow::Result<Self> {
        let (orders, ordered) = channel::<(Pipeline, ReportContext)>();
        let (made, reports) = channel();
        let work = move || {
            // Ends with whoever orders.
            for (pipeline, context) in ordered {
                if made.send(Box::new(pipeline.finish(context))).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("analysis".to_owned()).spawn(work).context("start a thread")?;
        Ok(Self { orders, reports, ordered: None, next: None, every })
    }

    /// Orders a report of `pipeline`, if it is time for one; whether it was.
    pub fn offer(&mut self, pipeline: &Pipeline, context: impl FnOnce() -> ReportContext) -> bool {
        let now = now();
        if self.ordered.is_some() || self.next.is_some_and(|next| now < next) {
            return false;
        }
        let is_ordered = self.orders.send((pipeline.clone(), context())).is_ok();
        self.ordered = is_ordered.then_some(now);
        is_ordered
    }

    /// The report that was ordered, if it is made.
    ///
    /// # Errors
    ///
    /// The analysis failed.
    pub fn take(&mut self) -> anyhow::Result<Option<Box<Report>>> {
        match self.reports.try_recv() {
            Ok(report) => {
                let took = self.ordered.take().map(|ordered| ordered.elapsed()).unwrap_or_default();
                self.next = Some(now() + self.every.max(took * (SHARE - 1)));
                Ok(Some(report))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => bail!("the analysis ended unexpectedly"),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "reports are made now and then")]
fn now() -> Instant {
    Instant::now()
}
