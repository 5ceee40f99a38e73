//! What the agent's HTTP server shows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::server::{Page, Route};
use crate::export::prometheus;
use crate::metrics::point::Point;

/// Prometheus' text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The metrics of the latest report; none before the first.
#[derive(Debug, Default)]
pub(super) struct Pages {
    metrics: Mutex<Option<String>>,
}

impl Pages {
    /// Replaces the metrics.
    pub(super) fn set(&self, points: &[Point]) {
        let mut text = Vec::new();
        // A vector takes everything.
        if prometheus::write(points, &mut text).is_ok() {
            *self.metrics() = Some(String::from_utf8_lossy(&text).into_owned());
        }
    }

    fn metrics(&self) -> MutexGuard<'_, Option<String>> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `/metrics`; `/healthz`, which answers while the agent runs; `/readyz`, which says whether
    /// there is anything to show yet.
    pub(super) fn routes(pages: &Arc<Self>) -> Vec<Route> {
        let (metrics, ready) = (Arc::clone(pages), Arc::clone(pages));
        let page = |status, content_type, body| Page { status, content_type, body };
        vec![
            (
                "/metrics",
                Box::new(move || page(200, METRICS, metrics.metrics().clone().unwrap_or_default())),
            ),
            ("/healthz", Box::new(move || page(200, TEXT, "ok\n".to_owned()))),
            (
                "/readyz",
                Box::new(move || match ready.metrics().is_some() {
                    true => page(200, TEXT, "ok\n".to_owned()),
                    false => page(503, TEXT, "no report yet\n".to_owned()),
                }),
            ),
        ]
    }
}
