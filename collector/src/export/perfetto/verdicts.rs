//! What is wrong, and for how long: a slice for each verdict on a problem. Its name is the class, so that
//! viewers, which colour by name, give each cause its colour.

use serde_json::json;

use super::event::{Track, arguments};
use super::processes::{Process, Processes};
use super::slices::{Slice, place};
use railscope_core::report::Report;
use railscope_core::report::verdicts::VerdictReport;

/// The verdicts that have a time; one without an end lasts to the end of the capture.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let end_ns = i64::try_from(report.capture.duration_ns).unwrap_or(i64::MAX);
    let problems = report.verdicts.iter().filter(|verdict| verdict.is_problem());
    let slices = problems.filter_map(|verdict| slice(verdict, end_ns)).collect();
    place(slices, &Process::Job, "what is wrong", processes)
}

fn slice(verdict: &VerdictReport, end_ns: i64) -> Option<Slice> {
    let start_ns = verdict.since_ns?;
    Some(Slice {
        start_ns,
        end_ns: verdict.until_ns.unwrap_or(end_ns).max(start_ns),
        name: verdict.id.replace('_', " "),
        category: "verdict",
        arguments: arguments([
            ("title", json!(verdict.title)),
            ("severity", json!(verdict.severity)),
            ("grade", json!(verdict.grade)),
            ("host", json!(verdict.subject.host)),
            ("port", json!(verdict.subject.port)),
            ("rank", json!(verdict.subject.rank)),
            ("remedy", json!(verdict.remedy)),
        ]),
    })
}
