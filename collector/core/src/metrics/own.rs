//! Metrics of railscope itself: sources, exports, CPU time.

use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::SeriesTable;

/// Figures of a live program about itself. Counts are since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFigures {
    /// Every device of every source.
    pub sources: Vec<SourceFigures>,
    /// Reports made.
    pub reports: u64,
    /// Updates of the flows' traffic between reports.
    pub updates: u64,
    /// CPU time in nanoseconds, by part: `agent`, or the name of a kernel program.
    pub cpu_ns: Vec<(String, u64)>,
    /// Private memory in bytes, if it is known.
    pub memory: Option<u64>,
    /// What it was built from.
    pub build: Build,
    /// Exported items by outcome, for each signal.
    pub exports: Vec<(&'static str, ExportFigures)>,
    /// The ring of frames; `None` if none is recorded.
    pub recording: Option<RecordFigures>,
    /// Lines of the log.
    pub log: LogFigures,
}

/// Lines of the log by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogFigures {
    /// Written.
    pub written: u64,
    /// Not written, because there were too many of their kind.
    pub held_back: u64,
    /// They could not be written.
    pub lost: u64,
}

/// A ring of frames on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordFigures {
    /// Frames captured.
    pub frames: u64,
    /// Frames that the kernel dropped: its ring was full.
    pub kernel_lost: u64,
    /// Frames that were dropped because the disk was too slow or full.
    pub disk_lost: u64,
    /// Segments removed before their time: the ring was full.
    pub crowded_out: u64,
    /// Bytes on disk.
    pub ring_bytes: u64,
    /// Nanoseconds from the oldest frame to the newest.
    pub ring_ns: u64,
    /// Saves: files written.
    pub saved: u64,
    /// Saves that failed.
    pub failed: u64,
    /// Saves that a limit forbade.
    pub refused: u64,
}

/// What a program was built from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// Its version.
    pub version: &'static str,
    /// The commit, if the build knew it.
    pub commit: Option<&'static str>,
}

/// One device of a source, and why it sees nothing, if so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFigures {
    /// What it is: `ebpf`, `af_packet`, `counters`.
    pub source: &'static str,
    /// Interface, device or file that it reads.
    pub device: String,
    /// Why it sees nothing; `None` if it works. A fixed text: it becomes an attribute.
    pub why_blind: Option<String>,
}

/// Exported items by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportFigures {
    /// Accepted by the receiver.
    pub sent: u64,
    /// Rejected by the receiver item by item.
    pub rejected: u64,
    /// Dropped because the queue was full.
    pub dropped: u64,
    /// Given up: the receiver refused a retry.
    pub failed: u64,
}

impl ExportFigures {
    /// Counts with the values of `railscope.outcome`.
    #[must_use]
    pub const fn outcomes(self) -> [(&'static str, u64); 4] {
        [
            ("sent", self.sent),
            ("rejected", self.rejected),
            ("dropped", self.dropped),
            ("failed", self.failed),
        ]
    }
}

/// Sets all of it.
pub(super) fn set(series: &mut SeriesTable, own: &OwnFigures) {
    series.clear(&[&catalog::SOURCE_VISIBLE]);
    for source in &own.sources {
        let named = [
            (attribute::SOURCE.name, source.source.to_owned()),
            (attribute::DEVICE.name, source.device.clone()),
        ];
        let why = source.why_blind.clone().unwrap_or_default();
        let reason = [(attribute::REASON.name, why)];
        let visible = Attributes::new(named.into_iter().chain(reason));
        let is_visible = u64::from(source.why_blind.is_none());
        series.set(&catalog::SOURCE_VISIBLE, visible, is_visible);
    }
    series.set(&catalog::REPORTS, Attributes::default(), own.reports);
    series.set(&catalog::UPDATES, Attributes::default(), own.updates);
    for (part, used) in &own.cpu_ns {
        let attributes = Attributes::new([(attribute::PART.name, part.clone())]);
        series.set(&catalog::CPU_TIME, attributes, *used);
    }
    if let Some(memory) = own.memory {
        series.set(&catalog::MEMORY_USAGE, Attributes::default(), memory);
    }
    let version = (attribute::VERSION.name, own.build.version.to_owned());
    let commit = own.build.commit.map(|commit| (attribute::COMMIT.name, commit.to_owned()));
    let build = Attributes::new(std::iter::once(version).chain(commit));
    series.set(&catalog::BUILD_INFO, build, 1);
    let LogFigures { written, held_back, lost } = own.log;
    for (outcome, count) in [("written", written), ("held_back", held_back), ("lost", lost)] {
        let attributes = Attributes::new([(attribute::LOG_OUTCOME.name, outcome.to_owned())]);
        series.set(&catalog::LOG_LINES, attributes, count);
    }
    if let Some(recording) = &own.recording {
        set_recording(series, recording);
    }
    for (signal, figures) in &own.exports {
        for (outcome, count) in figures.outcomes() {
            let attributes = Attributes::new([
                (attribute::SIGNAL.name, (*signal).to_owned()),
                (attribute::OUTCOME.name, outcome.to_owned()),
            ]);
            series.set(&catalog::EXPORT_ITEMS, attributes, count);
        }
    }
}

fn set_recording(series: &mut SeriesTable, recording: &RecordFigures) {
    series.set(&catalog::RECORD_FRAMES, Attributes::default(), recording.frames);
    for (by, lost) in [("kernel", recording.kernel_lost), ("disk", recording.disk_lost)] {
        let attributes = Attributes::new([(attribute::LOST_BY.name, by.to_owned())]);
        series.set(&catalog::RECORD_LOST, attributes, lost);
    }
    series.set(&catalog::RECORD_CROWDED_OUT, Attributes::default(), recording.crowded_out);
    series.set(&catalog::RECORD_RING_SIZE, Attributes::default(), recording.ring_bytes);
    series.set(&catalog::RECORD_RING_TIME, Attributes::default(), recording.ring_ns);
    let RecordFigures { saved, failed, refused, .. } = *recording;
    for (outcome, count) in [("saved", saved), ("failed", failed), ("refused", refused)] {
        let attributes = Attributes::new([(attribute::SAVE_OUTCOME.name, outcome.to_owned())]);
        series.set(&catalog::RECORD_SAVES, attributes, count);
    }
}
