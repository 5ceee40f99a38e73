//! The pages of the agent's HTTP server.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use serde::Serialize;

use super::server::body::Body;
use super::server::{Page, Route};
use super::source::queue_pairs::page::{ServedRanks, rows};
use crate::export::{json, prometheus};
use crate::ingest::process::Processes;
use crate::printable::printable;
use railscope_core::metrics::point::Point;
use railscope_core::report::Report;

/// Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// How long a list of queue pairs is served before it is made anew: the kernel asks the device for it.
const PAIRS_KEPT: Duration = Duration::from_secs(2);

/// The latest report and its metrics; none before the first. Text is made when the first client asks for
/// it, and kept for the others.
#[derive(Default)]
pub(super) struct Pages {
    points: Mutex<(Arc<Vec<Point>>, Option<Bytes>)>,
    report: Mutex<Option<Latest>>,
    /// The ranks that it knows.
    ranks: Mutex<Arc<ServedRanks>>,
    pairs: Mutex<Option<(Instant, Page)>>,
    /// Why no source sees anything, if none does.
    blindness: Mutex<Option<String>>,
}

/// The latest report.
enum Latest {
    /// Nobody has asked for it yet.
    Made(Box<Report>),
    /// Its text.
    Written(Body),
}

impl Pages {
    /// Replaces the report.
    pub(super) fn set_report(&self, report: Report) {
        *held(&self.ranks) = Arc::new(ServedRanks::of(&report));
        *held(&self.report) = Some(Latest::Made(Box::new(report)));
    }

    /// Replaces the metrics.
    pub(super) fn set_points(&self, points: Vec<Point>) {
        *held(&self.points) = (Arc::new(points), None);
    }

    /// The metrics as text. One client makes it, others wait for it.
    fn metrics(&self) -> Bytes {
        let mut held = held(&self.points);
        let (points, kept) = &mut *held;
        let made = || {
            let mut text = Vec::new();
            // A vector takes everything.
            _ = prometheus::write(points, &mut text);
            text.shrink_to_fit();
            Bytes::from(text)
        };
        kept.get_or_insert_with(made).clone()
    }

    /// The report as JSON, likewise; `None` before the first.
    fn report(&self) -> Option<Body> {
        let mut held = held(&self.report);
        let latest = held.as_mut()?;
        let body = match latest {
            Latest::Written(body) => return Some(body.clone()),
            Latest::Made(report) => text(&**report),
        };
        *latest = Latest::Written(body.clone());
        Some(body)
    }

    fn pairs(&self, processes: &Processes) -> Page {
        let mut kept = held(&self.pairs);
        match &*kept {
            Some((made, page)) if made.elapsed() < PAIRS_KEPT => page.clone(),
            _ => {
                let page = queue_pair_page(processes, self);
                *kept = Some((now(), page.clone()));
                page
            }
        }
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
            ("/metrics", Box::new(move || page(200, METRICS, metrics.metrics()))),
            (
                "/report.json",
                Box::new(move || {
                    report.report().map_or_else(not_yet, |report| page(200, JSON, report))
                }),
            ),
            ("/queue_pairs.json", Box::new(move || pairs.pairs(&processes))),
            ("/healthz", Box::new(move || page(200, TEXT, "ok\n".to_owned()))),
            (
                "/readyz",
                Box::new(move || {
                    match (held(&ready.blindness).as_ref(), held(&ready.report).as_ref()) {
                        (Some(why), _) => page(503, TEXT, format!("{}\n", printable(why))),
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

fn page(status: u16, content_type: &'static str, body: impl Into<Body>) -> Page {
    Page { status, content_type, body: body.into() }
}

fn text(document: &impl Serialize) -> Body {
    Body::pack(|out| json::write_document(document, out)).unwrap_or(Body::Plain(Bytes::new()))
}

#[expect(clippy::disallowed_methods, reason = "a page is kept for a while")]
fn now() -> Instant {
    Instant::now()
}

fn queue_pair_page(processes: &Processes, pages: &Pages) -> Page {
    let ranks = Arc::clone(&held(&pages.ranks));
    match rows(processes, &ranks) {
        Ok(rows) => page(200, JSON, text(&rows)),
        Err(error) => page(503, TEXT, format!("{}\n", printable(&error.to_string()))),
    }
}
