//! What the agent tells of itself.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use railscope_core::metrics::own::{ExportFigures, OwnFigures, SourceFigures};

/// Its sources, as they are now.
#[derive(Debug, Default)]
pub(super) struct Own {
    sources: Vec<SourceFigures>,
    reports: u64,
    updates: u64,
}

impl Own {
    /// A source that sees what it is for.
    pub(super) fn add_seeing(&mut self, source: &'static str, device: &str) {
        self.add(source, device, None);
    }

    /// A source that does not, and why: always the same words for the same reason.
    pub(super) fn add_blind(&mut self, source: &'static str, device: &str, why: &'static str) {
        self.add(source, device, Some(why.to_owned()));
    }

    /// A source of which nothing more is known.
    pub(super) fn remove(&mut self, source: &str, device: &str) {
        self.sources.retain(|known| known.source != source || known.device != device);
    }

    /// The only devices that a source sees now; without any, `why` it is blind.
    pub(super) fn set(&mut self, source: &'static str, devices: &[String], why: &'static str) {
        self.sources.retain(|known| known.source != source);
        devices.iter().for_each(|device| self.add_seeing(source, device));
        if devices.is_empty() {
            self.add_blind(source, "all", why);
        }
    }

    /// Why there is nothing to tell of this host; `None` where a source sees something.
    pub(super) fn blindness(&self) -> Option<String> {
        if self.sources.is_empty() {
            return Some("all sources are switched off".to_owned());
        }
        let why = |one: &SourceFigures| {
            let why = one.why_blind.as_deref()?;
            Some(format!("{} ({}): {why}", one.source, one.device))
        };
        let reasons: Option<Vec<String>> = self.sources.iter().map(why).collect();
        Some(format!("no source sees anything: {}", reasons?.join("; ")))
    }

    fn add(&mut self, source: &'static str, device: &str, why_blind: Option<String>) {
        self.sources.push(SourceFigures { source, device: device.to_owned(), why_blind });
    }

    /// Another report is made.
    pub(super) fn add_report(&mut self) {
        self.reports += 1;
    }

    /// What flows carried is told again.
    pub(super) fn add_update(&mut self) {
        self.updates += 1;
    }

    /// All of it.
    pub(super) fn figures(
        &self,
        kernel_times: Vec<(String, Duration)>,
        exports: Vec<(&'static str, ExportFigures)>,
    ) -> OwnFigures {
        let used = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(0, nanos);
        let kernel = kernel_times
            .into_iter()
            .map(|(program, time)| (program, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        let cpu_ns = [("agent".to_owned(), used)].into_iter().chain(kernel).collect();
        let Self { sources, reports, updates } = self;
        let sources = sources.clone();
        OwnFigures { sources, reports: *reports, updates: *updates, cpu_ns, exports }
    }
}

fn nanos(time: nix::sys::time::TimeSpec) -> u64 {
    u64::try_from(Duration::from(time).as_nanos()).unwrap_or(u64::MAX)
}
