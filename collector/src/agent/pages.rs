//! The pages of the agent's HTTP server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::server::{Page, Route};
use super::source::queue_pairs::page::rows;
use crate::export::{json, prometheus};
use crate::ingest::process::Processes;
use railscope_core::metrics::point::Point;
use railscope_core::report::Report;

/// Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// The latest report and its metrics; none before the first.
#[derive(Default)]
pub(super) struct Pages {
    points: Mutex<Arc<Vec<Point>>>,
    report: Mutex<Option<Arc<Report>>>,
    /// Why no source sees anything, if none does.
    blindness: Mutex<Option<String>>,
}

impl Pages {
    /// Replaces the report. Its text is made when a client asks for it.
    pub(super) fn set_report(&self, report: Report) {
        *held(&self.report) = Some(Arc::new(report));
    }

    /// Replaces the metrics; likewise.
    pub(super) fn set_points(&self, points: Vec<Point>) {
        *held(&self.points) = Arc::new(points);
    }

    /// Replaces the reason why no source sees anything; `None` if one does.
    pub(super) fn set_blindness(&self, why: Option<String>) {
        *held(&self.blindness) = why;
    }

    /// `/metrics`; `/report.json`, the report on the current window; `/queue_pairs.json`, the kernel's
    /// queue pairs with their `processes` and ranks; `/healthz`, which answers while the
    /// agent runs; `/readyz`, which is 503 until there is a report, and while no source sees anything.
    pub(super) fn routes(pages: &Arc<Self>, processes: Processes) -> Vec<Route> {
        let [metrics, report, pairs, ready] = [(); 4].map(|()| Arc::clone(pages));
        let not_yet = || page(503, TEXT, "no report yet\n".to_owned());
        vec![
            (
                "/metrics",
                Box::new(move || {
                    let points = held(&metrics.points).clone();
                    let mut text = Vec::new();
                    // A vector takes everything.
                    _ = prometheus::write(&points, &mut text);
                    page(200, METRICS, String::from_utf8_lossy(&text).into_owned())
                }),
            ),
            (
                "/report.json",
                Box::new(move || {
                    let report = held(&report.report).clone();
                    report.map_or_else(not_yet, |report| page(200, JSON, text(&*report)))
                }),
            ),
            ("/queue_pairs.json", Box::new(move || queue_pair_page(&processes, &pairs))),
            ("/healthz", Box::new(move || page(200, TEXT, "ok\n".to_owned()))),
            (
                "/readyz",
                Box::new(move || {
                    match (held(&ready.blindness).as_ref(), held(&ready.report).as_ref()) {
                        (Some(why), _) => page(503, TEXT, format!("{why}\n")),
                        (None, None) => not_yet(),
                        (None, Some(_)) => page(200, TEXT, "ok\n".to_owned()),
                    }
                }),
            ),
        ]
    }
}

fn held<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn page(status: u16, content_type: &'static str, body: String) -> Page {
    Page { status, content_type, body }
}

fn text(document: &impl Serialize) -> String {
    let mut text = Vec::new();
    // A vector takes everything.
    _ = json::write_document(document, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn queue_pair_page(processes: &Processes, pages: &Pages) -> Page {
    let report = held(&pages.report).clone();
    match rows(processes, report.as_deref()) {
        Ok(rows) => page(200, JSON, text(&rows)),
        Err(error) => page(503, TEXT, format!("{error}\n")),
    }
}
