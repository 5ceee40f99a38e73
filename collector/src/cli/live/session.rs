//! A live source on its way into a pipeline.

use std::io;
use std::time::Duration;

use crate::ingest::live::{LiveEvent, LiveSource};
use crate::model::time::Timestamp;
use crate::pipeline::Pipeline;
use crate::report::{Detail, Report, ReportContext};

/// A pipeline that is fed live.
pub(in crate::cli) struct Session {
    source: Box<dyn LiveSource>,
    pipeline: Pipeline,
    origin: Option<Timestamp>,
    taps: Vec<String>,
    frames: u64,
}

impl Session {
    pub(in crate::cli) fn new(source: Box<dyn LiveSource>, pipeline: Pipeline) -> Self {
        Self { source, pipeline, origin: None, taps: Vec::new(), frames: 0 }
    }

    /// Takes in what comes within `patience`; `beside` sees every event, and `say` hears what the
    /// user should know.
    ///
    /// # Errors
    ///
    /// The source cannot go on.
    pub(in crate::cli) fn poll(
        &mut self,
        patience: Duration,
        beside: &mut dyn FnMut(&LiveEvent<'_>),
        say: &mut dyn FnMut(String),
    ) -> io::Result<()> {
        let Self { source, pipeline, origin, taps, frames } = self;
        source.poll(patience, &mut |event| {
            beside(&event);
            match event {
                LiveEvent::Frame(frame) => {
                    origin.get_or_insert(frame.time);
                    *frames += 1;
                    pipeline.handle_frame(&frame);
                }
                LiveEvent::Run(run, frame) => {
                    origin.get_or_insert(frame.time);
                    *frames += 1;
                    pipeline.handle_run(&run, &frame);
                }
                LiveEvent::Tap(tap) => {
                    taps.push(tap.file.clone());
                    pipeline.add_tap(tap);
                }
                LiveEvent::Lost { tap, frames } => pipeline.add_lost_frames(tap, frames),
                LiveEvent::HostName(name) => pipeline.add_host_name(name),
                LiveEvent::Missed { counter, count } => pipeline.add_health(counter, count),
                LiveEvent::Silent { tap, why } => {
                    let name = taps.get(tap.0 as usize).map_or("a tap", String::as_str);
                    say(format!("{name}: {why}"));
                }
                LiveEvent::Warning(text) => say(text),
            }
        })
    }

    /// Whether nothing will ever come again.
    pub(in crate::cli) fn is_over(&self) -> bool {
        self.source.is_over()
    }

    /// Frames taken in so far.
    pub(in crate::cli) fn frames(&self) -> u64 {
        self.frames
    }

    /// What its source can and cannot see.
    pub(in crate::cli) fn completeness(&self) -> Vec<String> {
        self.source.completeness()
    }

    /// The state, to make reports of.
    pub(in crate::cli) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// Forgets what is older than the window; `report` is the latest one of this state.
    pub(in crate::cli) fn slide(&mut self, window_ns: u64, report: &Report) {
        self.pipeline.slide(window_ns, report);
    }

    /// For a report of the state.
    pub(in crate::cli) fn context(&self, detail: Detail) -> ReportContext {
        ReportContext { origin: self.origin, detail, ..ReportContext::default() }
    }
}
