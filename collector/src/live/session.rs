//! A live source on its way into a pipeline.

use std::io;
use std::time::Duration;

use crate::ingest::live::{LiveEvent, LiveSource};
use railscope_core::analysis::understanding::Understanding;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Pipeline;
use railscope_core::report::{Detail, ReportContext};

/// A pipeline that is fed live.
pub struct Session {
    source: Box<dyn LiveSource>,
    pipeline: Pipeline,
    origin: Option<Timestamp>,
    taps: Vec<String>,
    frames: u64,
}

impl Session {
    /// Nothing has come yet.
    pub fn new(source: Box<dyn LiveSource>, pipeline: Pipeline) -> Self {
        Self { source, pipeline, origin: None, taps: Vec::new(), frames: 0 }
    }

    /// Takes in what comes within `patience`; `beside` sees every event, and `say` hears what the
    /// user should know.
    ///
    /// # Errors
    ///
    /// The source cannot go on.
    pub fn poll(
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
    pub fn is_over(&self) -> bool {
        self.source.is_over()
    }

    /// Frames taken in so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// CPU time that its source costs in the kernel, by program.
    pub fn kernel_times(&self) -> Vec<(String, Duration)> {
        self.source.kernel_times()
    }

    /// What its source can and cannot see.
    pub fn completeness(&self) -> Vec<String> {
        self.source.completeness()
    }

    /// The state, to make reports of.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The state, to add to it what comes from elsewhere.
    pub fn pipeline_mut(&mut self) -> &mut Pipeline {
        &mut self.pipeline
    }

    /// Forgets what is older than the window; `understanding` is the latest one of this state.
    pub fn slide(&mut self, window_ns: u64, understanding: &Understanding) {
        self.pipeline.slide(window_ns, understanding);
    }

    /// For a report of the state.
    pub fn context(&self, detail: Detail) -> ReportContext {
        ReportContext { origin: self.origin, detail, ..ReportContext::default() }
    }
}
