//! What all sections of a page share: the report, the queue pairs shown, names and times.

use std::collections::BTreeMap;

use super::axis::Axis;
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::label;
use crate::export::text::quantity::duration;
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::findings::FindingReport;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Longest path of a file.
pub(super) const PATH_WIDTH: usize = 60;

/// A report on its way to a page.
pub(super) struct Page<'a> {
    pub(super) report: &'a Report,
    pub(super) queue_pairs: Vec<&'a QueuePairReport>,
    pub(super) names: CommunicatorNames,
    /// From the first frame to the last.
    pub(super) axis: Axis,
    hosts: BTreeMap<&'a str, BTreeMap<u32, String>>,
}

impl<'a> Page<'a> {
    /// A sentence, if a job stands still.
    pub(super) fn stands_still(&self) -> Option<&'static str> {
        let is_any = self.report.verdicts.iter().any(|verdict| verdict.stops_job);
        is_any.then_some("A job stands still: the verdict says why.")
    }

    pub(super) fn new(report: &'a Report) -> Self {
        let hosts = report.communicators.iter().map(|communicator| {
            let ranks = communicator.ranks.iter();
            let places =
                ranks.filter_map(|rank| Some((rank.rank, label::name(rank.place.as_deref()?))));
            (communicator.id.as_str(), places.collect())
        });
        Self {
            report,
            queue_pairs: report.queue_pairs.iter().collect(),
            names: CommunicatorNames::new(&report.communicators),
            axis: axis(report),
            hosts: hosts.collect(),
        }
    }

    pub(super) fn findings(&self, places: &[usize]) -> Vec<&'a FindingReport> {
        places.iter().filter_map(|at| self.report.findings.get(*at)).collect()
    }

    pub(super) fn collective(&self, id: u32) -> Option<&'a CollectiveReport> {
        let all = &self.report.collectives;
        all.binary_search_by_key(&id, |one| one.id).ok().and_then(|at| all.get(at))
    }

    /// Where a rank runs; `None` if unknown.
    pub(super) fn host(&self, communicator: &str, rank: u32) -> Option<&str> {
        self.hosts.get(communicator)?.get(&rank).map(String::as_str)
    }

    /// `rank 2`, `rank 2 of 0ed04865` if there are several communicators.
    pub(super) fn rank(&self, communicator: &str, rank: u32) -> String {
        match self.names.where_needed(communicator) {
            of if of.is_empty() => format!("rank {rank}"),
            of => format!("rank {rank} of {of}"),
        }
    }

    /// Time of day in UTC; `None` if it does not fit a calendar.
    pub(super) fn clock(&self, at_ns: i64) -> Option<String> {
        let nanos = self.report.capture.time(at_ns).as_nanos();
        let time = jiff::Timestamp::from_nanosecond(nanos.into()).ok()?;
        Some(time.strftime("%H:%M:%S%.3f UTC").to_string())
    }

    /// The day on which it was captured.
    pub(super) fn day(&self) -> Option<String> {
        let nanos = self.report.capture.origin_ns.as_nanos();
        let time = jiff::Timestamp::from_nanosecond(nanos.into()).ok()?;
        Some(time.strftime("%-d %B %Y, %H:%M:%S UTC").to_string())
    }
}

/// A time relative to the first frame: `1.20 s`, `-3.00 ms`.
pub(super) fn moment(at_ns: i64) -> String {
    let sign = if at_ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration(at_ns.unsigned_abs()))
}

/// The time that the charts cover.
fn axis(report: &Report) -> Axis {
    let taps = report.taps.iter().filter_map(|tap| tap.first_ns.zip(tap.last_ns));
    let nics = report.counters.iter().map(|nic| (nic.first_ns, nic.last_ns));
    let all: Vec<(i64, i64)> = match report.taps.is_empty() {
        true => nics.collect(),
        false => taps.collect(),
    };
    let start = all.iter().map(|(first, _)| *first).min().unwrap_or(0);
    let end = all.iter().map(|(_, last)| *last).max().unwrap_or(0);
    Axis::new(start, end)
}

/// With a capital, if it begins with a word of prose: names of ports and devices stay as they are.
pub(super) fn sentence_case(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or_default();
    let is_prose = word.trim_end_matches([':', ',']).bytes().all(|byte| byte.is_ascii_lowercase());
    let mut letters = text.chars();
    match letters.next().filter(|_| is_prose) {
        Some(first) => first.to_ascii_uppercase().to_string() + letters.as_str(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::sentence_case;

    #[test]
    fn only_prose_gets_a_capital() {
        assert_eq!(sentence_case("packets are lost"), "Packets are lost");
        assert_eq!(sentence_case("straggler: rank 2"), "Straggler: rank 2");
        assert_eq!(sentence_case("mlx5_0 was paused"), "mlx5_0 was paused");
        assert_eq!(sentence_case(""), "");
    }
}
