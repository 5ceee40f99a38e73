//! The agent's OTLP in a build without the feature `otlp`: a type without values.

use std::time::Duration;

use crate::config::Config;
use railscope_core::metrics::own::ExportFigures;
use railscope_core::metrics::point::Point;
use railscope_core::model::time::Timestamp;
use railscope_core::report::Report;
use railscope_core::report::news::ReportNews;

/// Has no value.
pub(super) enum Otlp {}

/// Nothing: headers are not used.
#[must_use]
pub fn problem(_: &Config, _: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    None
}

impl Otlp {
    /// Always `None`: settings with an OTLP endpoint are refused when they are read.
    pub(super) fn start(
        _: &Config,
        _: &str,
        _: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Option<Self>> {
        Ok(None)
    }

    pub(super) fn send(&mut self, _: &Report, _: &ReportNews<'_>, _: Timestamp) {
        match *self {}
    }

    pub(super) fn send_metrics(&mut self, _: &[Point], _: &mut dyn FnMut(String)) {
        match *self {}
    }

    pub(super) fn figures(&self) -> Vec<(&'static str, ExportFigures)> {
        match *self {}
    }

    pub(super) fn finish(self, _: Duration, _: &mut dyn FnMut(String)) {
        match self {}
    }
}
