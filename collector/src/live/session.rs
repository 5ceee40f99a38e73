//! Reads live sources into a pipeline.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::ingest::live::{LiveEvent, LiveSource};
use railscope_core::analysis::understanding::Understanding;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::TapId;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Pipeline;
use railscope_core::report::{Detail, ReportContext};

/// A pipeline with live sources.
pub struct Session {
    sources: Vec<Feed>,
    pipeline: Pipeline,
    origin: Option<Timestamp>,
    taps: Vec<String>,
    frames: u64,
    unused_frames: u64,
    /// Until when silence is known.
    observed_until: Option<Timestamp>,
}

/// A source, and its taps.
struct Feed {
    source: Box<dyn LiveSource>,
    taps: Vec<FeedTap>,
}

/// A tap of a source.
struct FeedTap {
    /// Its id in the pipeline.
    id: TapId,
    /// The time of the newest frame of this poll.
    newest: Option<Timestamp>,
    /// The time of the latest frame of all, and when that came.
    latest: Option<(Timestamp, Instant)>,
}

impl Session {
    /// A session without sources yet.
    pub fn new(pipeline: Pipeline) -> Self {
        let (sources, taps) = (Vec::new(), Vec::new());
        let observed_until = None;
        Self { sources, pipeline, origin: None, taps, frames: 0, unused_frames: 0, observed_until }
    }

    /// Adds a source. Its frames are in the order of time; those of several sources are not merged.
    pub fn add(&mut self, source: Box<dyn LiveSource>) {
        self.sources.push(Feed { source, taps: Vec::new() });
    }

    /// Follows one more interface with the latest source of interfaces; `None` without one.
    pub fn follow(&mut self, interface: &str) -> Option<io::Result<()>> {
        let mut followed = self.sources.iter_mut().rev().map(|feed| feed.source.follow(interface));
        let is_of_interfaces = |outcome: &io::Result<()>| {
            !outcome.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
        };
        followed.find(is_of_interfaces)
    }

    /// Lets go of an interface that was removed.
    pub fn forget(&mut self, interface: &str) {
        self.sources.iter_mut().for_each(|feed| feed.source.forget(interface));
    }

    /// Reads what comes within `patience`. `say` takes what the user should know.
    ///
    /// # Errors
    ///
    /// A source fails for good.
    pub fn poll(&mut self, patience: Duration, say: &mut dyn FnMut(String)) -> io::Result<()> {
        let Self { sources, pipeline, origin, taps, frames, unused_frames, observed_until } = self;
        if sources.is_empty() {
            thread::sleep(patience);
            return Ok(());
        }
        // Only those are waited at whose buffers fill soon, if there are such.
        let hasty = sources.iter().filter(|feed| !feed.source.is_patient()).count();
        let waited = if hasty > 0 { hasty } else { sources.len() };
        let share = patience / u32::try_from(waited).unwrap_or(u32::MAX);
        for feed in sources {
            let is_waited = hasty == 0 || !feed.source.is_patient();
            let patience = if is_waited { share } else { Duration::ZERO };
            let own = &mut feed.taps;
            feed.source.poll(patience, &mut |event| match noted(event, own) {
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
                    let id = TapId(u32::try_from(taps.len()).unwrap_or(u32::MAX));
                    own.push(FeedTap { id, newest: None, latest: None });
                    taps.push(tap.file.clone());
                    pipeline.add_tap(tap);
                }
                LiveEvent::Lost { tap, frames } => pipeline.add_lost_frames(tap, frames),
                LiveEvent::HostName(name) => pipeline.add_host_name(name),
                LiveEvent::Missed { event, count } => {
                    if event == HealthEvent::EbpfUnusedFrames {
                        *unused_frames += count;
                    }
                    pipeline.add_health(event, count);
                }
                LiveEvent::Silent { tap, why } => {
                    let name = taps.get(tap.0 as usize).map_or("a tap", String::as_str);
                    say(format!("{name}: {why}"));
                }
                LiveEvent::Warning(text) => say(text),
            })?;
            let until = feed.observe_silence(pipeline);
            *observed_until = until.max(*observed_until);
        }
        Ok(())
    }

    /// Until when it is known that nothing more passed; `None` before the first frame, and where others
    /// capture.
    pub fn observed_until(&self) -> Option<Timestamp> {
        self.observed_until
    }

    /// Whether no frame will ever come again.
    pub fn is_over(&self) -> bool {
        self.sources.iter().all(|feed| feed.source.is_over())
    }

    /// Frames read so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// RoCE packets among them, with those that the kernel only counted.
    pub fn roce_frames(&self) -> u64 {
        self.pipeline.tracker().taps().iter().map(|tap| tap.roce_frames).sum()
    }

    /// Frames that a source saw and did not pass on, because they were of no use.
    pub fn unused_frames(&self) -> u64 {
        self.unused_frames
    }

    /// CPU time of the sources' kernel programs, by name.
    pub fn kernel_times(&self) -> Vec<(String, Duration)> {
        let mut times: BTreeMap<String, Duration> = BTreeMap::new();
        for (program, time) in self.sources.iter().flat_map(|feed| feed.source.kernel_times()) {
            *times.entry(program).or_default() += time;
        }
        times.into_iter().collect()
    }

    /// What the sources can and cannot see.
    pub fn completeness(&self) -> Vec<String> {
        self.sources.iter().flat_map(|feed| feed.source.completeness()).collect()
    }

    /// The state, to make reports of.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The state, to add what other sources deliver.
    pub fn pipeline_mut(&mut self) -> &mut Pipeline {
        &mut self.pipeline
    }

    /// Drops what is older than the window. `understanding` is the latest one of this state.
    pub fn slide(&mut self, window_ns: u64, understanding: &Understanding) {
        self.pipeline.slide(window_ns, understanding);
    }

    /// The context for a report on the state.
    pub fn context(&self, detail: Detail) -> ReportContext {
        ReportContext { origin: self.origin, detail, ..ReportContext::default() }
    }
}

impl Feed {
    /// Tells the pipeline how long taps have been silent. How long ago a frame came is measured by a monotonic
    /// clock. Returns until when the last of them was silent.
    fn observe_silence(&mut self, pipeline: &mut Pipeline) -> Option<Timestamp> {
        let now = now();
        let mut until = None;
        for (tap, local) in self.taps.iter_mut().zip(0..) {
            tap.latest = tap.newest.take().map(|time| (time, now)).or(tap.latest);
            let Some((time, came)) = tap.latest else { continue };
            if self.source.is_quiet(TapId(local)) {
                let silence = now.saturating_duration_since(came).as_nanos();
                let end = time.plus_nanos(u64::try_from(silence).unwrap_or(u64::MAX));
                pipeline.observe_until(tap.id, end);
                until = until.max(Some(end));
            }
        }
        until
    }
}

/// The event with the pipeline's ids of taps; the time of a frame is noted at its tap.
fn noted<'a>(event: LiveEvent<'a>, taps: &mut [FeedTap]) -> LiveEvent<'a> {
    let id = |taps: &[FeedTap], tap: TapId| taps.get(tap.0 as usize).map_or(tap, |known| known.id);
    let mut at_home = |frame: Frame<'a>| match taps.get_mut(frame.tap.0 as usize) {
        Some(known) => {
            known.newest = Some(frame.time);
            Frame { tap: known.id, ..frame }
        }
        None => frame,
    };
    match event {
        LiveEvent::Frame(frame) => LiveEvent::Frame(at_home(frame)),
        LiveEvent::Run(run, frame) => LiveEvent::Run(run, at_home(frame)),
        LiveEvent::Lost { tap, frames } => LiveEvent::Lost { tap: id(taps, tap), frames },
        LiveEvent::Silent { tap, why } => LiveEvent::Silent { tap: id(taps, tap), why },
        other => other,
    }
}

#[expect(clippy::disallowed_methods, reason = "silence is measured")]
fn now() -> Instant {
    Instant::now()
}
