//! Reads captures into a pipeline.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::input::{CaptureSink, Input};
use super::progress::InputProgress;
use super::{lanes, partial, taps};
use crate::export::json;
use crate::heap;
use crate::part::Parts;
use railscope_core::analysis::understanding::Understanding;
use railscope_core::flow::tracker::MessageEvent;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Analysed, Pipeline};
use railscope_core::report::messages::MessageReport;
use railscope_core::report::{Report, ReportContext};

/// Captures on their way into a pipeline.
pub(super) struct Analysis {
    pipeline: Pipeline,
    /// `None`: messages are not kept.
    messages: Option<MessageFile>,
}

impl Analysis {
    /// Into `pipeline`; completed messages go to the file, if it hands them out.
    pub(super) fn new(pipeline: Pipeline, messages: Option<MessageFile>) -> Self {
        Self { pipeline, messages }
    }

    /// Where everything goes.
    pub(super) fn pipeline(&mut self) -> &mut Pipeline {
        &mut self.pipeline
    }

    /// A message was completed; `origin` is the time of the very first frame.
    pub(super) fn message(
        &mut self,
        message: &MessageEvent,
        origin: Timestamp,
    ) -> anyhow::Result<()> {
        match &mut self.messages {
            Some(messages) => messages.write(&MessageReport::new(message, origin)),
            None => Ok(()),
        }
    }

    /// Reads and analyses everything, parts instead of captures if there are any; several captures on at most
    /// `threads` threads, by default one a core. The report's origin is the first frame of the input.
    ///
    /// # Errors
    ///
    /// When the message file cannot be written.
    pub(super) fn run(
        self,
        input: (Input<'_>, Option<Parts>),
        threads: Option<NonZeroUsize>,
        context: ReportContext,
    ) -> anyhow::Result<Analysed> {
        let (understanding, context) = self.understand(input, threads, context)?;
        let report = Report::new(&understanding, &context);
        Ok(Analysed { understanding, report })
    }

    /// The same without a report: what it is to be made from.
    ///
    /// # Errors
    ///
    /// When the message file cannot be written.
    pub(super) fn understand(
        mut self,
        (input, parts): (Input<'_>, Option<Parts>),
        threads: Option<NonZeroUsize>,
        context: ReportContext,
    ) -> anyhow::Result<(Understanding, ReportContext)> {
        let origin = match parts {
            Some(parts) => partial::read(parts, &mut self)?,
            None if input.files() > 1 => {
                lanes::read(input, InputProgress::new(), threads, &mut self)?
            }
            None => match input.by_tap() {
                Some(by_tap) => taps::read(by_tap, &InputProgress::new(), threads, &mut self)?,
                None => input.read(InputProgress::new(), &mut self)?,
            },
        };
        // What was needed to read many files leaves gaps, which judging does not fill.
        heap::give_back();
        if let Some(messages) = &mut self.messages {
            messages.flush()?;
        }
        Ok((self.pipeline.understand(), ReportContext { origin, ..context }))
    }
}

impl CaptureSink for Analysis {
    fn tap(&mut self, tap: Tap) {
        self.pipeline.add_tap(tap);
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()> {
        self.pipeline.handle_frame(frame);
        let Self { pipeline, messages } = self;
        for message in pipeline.drain_messages() {
            if let Some(messages) = messages {
                messages.write(&MessageReport::new(&message, origin))?;
            }
        }
        Ok(())
    }

    fn host_name(&mut self, name: HostName) {
        self.pipeline.add_host_name(name);
    }

    fn lost_frames(&mut self, tap: TapId, frames: u64) {
        self.pipeline.add_lost_frames(tap, frames);
    }

    fn observed_until(&mut self, tap: TapId, time: Timestamp) {
        self.pipeline.observe_until(tap, time);
    }

    fn missed(&mut self, event: HealthEvent, count: u64) {
        self.pipeline.add_health(event, count);
    }
}

/// The second file of `--detail full`.
pub(super) struct MessageFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl MessageFile {
    /// An empty file at `path`.
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("create {}", path.display()))?;
        Ok(Self { path: path.to_owned(), out: BufWriter::new(file) })
    }

    fn write(&mut self, message: &MessageReport) -> anyhow::Result<()> {
        json::write_line(message, &mut self.out).with_context(|| self.task())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush().with_context(|| self.task())
    }

    fn task(&self) -> String {
        format!("write {}", self.path.display())
    }
}
