//! Figures about the agent itself.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use railscope_core::metrics::own::{
    Build, ExportFigures, LogFigures, OwnFigures, RecordFigures, SourceFigures,
};

/// What this program was built from.
pub(super) const BUILD: Build =
    Build { version: env!("CARGO_PKG_VERSION"), commit: option_env!("RAILSCOPE_COMMIT") };

/// Reports and updates made since the start.
#[derive(Debug, Default)]
pub(super) struct Own {
    reports: u64,
    updates: u64,
}

impl Own {
    /// Counts a report.
    pub(super) fn add_report(&mut self) {
        self.reports += 1;
    }

    /// Counts an update of the flows' metrics between two reports.
    pub(super) fn add_update(&mut self) {
        self.updates += 1;
    }

    /// All figures, with the CPU time of this process and of its kernel programs.
    pub(super) fn figures(
        &self,
        sources: Vec<SourceFigures>,
        kernel_times: Vec<(String, Duration)>,
        exports: Vec<(&'static str, ExportFigures)>,
        recording: Option<RecordFigures>,
        log: LogFigures,
    ) -> OwnFigures {
        let used = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(0, nanos);
        let kernel = kernel_times
            .into_iter()
            .map(|(program, time)| (program, u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        let cpu_ns = [("agent".to_owned(), used)].into_iter().chain(kernel).collect();
        let Self { reports, updates } = *self;
        let memory = private_memory();
        let build = BUILD;
        OwnFigures { sources, reports, updates, cpu_ns, memory, build, exports, recording, log }
    }
}

fn nanos(time: nix::sys::time::TimeSpec) -> u64 {
    u64::try_from(Duration::from(time).as_nanos()).unwrap_or(u64::MAX)
}

/// Private memory of this process in bytes.
fn private_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}
