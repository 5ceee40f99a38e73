//! What an agent's metrics say of it at one moment.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use railscope_testbed::agent::Agent;

/// One reading of `/metrics`.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// Frames captured by all taps.
    pub(super) frames: f64,
    /// Reports made.
    pub(super) reports: f64,
    /// Sources that see something.
    visible: BTreeSet<String>,
    /// Counters of what was missed, refused or unknown.
    health: BTreeMap<String, f64>,
}

impl Page {
    /// # Errors
    ///
    /// The agent gives no metrics.
    pub(super) fn of(agent: &Agent) -> Result<Self> {
        let text = agent.get("/metrics").context("the agent gives no metrics")?;
        let mut page = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            if series.starts_with("railscope_tap_frames_total") {
                page.frames += value;
            } else if series.starts_with("railscope_report_count_total") {
                page.reports = value;
            } else if series.starts_with("railscope_source_visible") {
                page.visible.extend((value > 0.0).then(|| series.to_owned()));
            } else if let Some(name) = label(series, "railscope_health_events{", "railscope_health")
            {
                page.health.insert(name.to_owned(), value);
            }
        }
        Ok(page)
    }

    /// Whether it sees all that `before` saw.
    pub(super) fn sees_what(&self, before: &Self) -> bool {
        before.visible.is_subset(&self.visible)
    }

    /// The counters that rose since `before`, and by how much.
    pub(super) fn risen_since(&self, before: &Self) -> BTreeMap<String, f64> {
        let rise = |(name, value): (&String, &f64)| {
            let rise = value - before.health.get(name).copied().unwrap_or_default();
            (rise > 0.0).then(|| (name.clone(), rise))
        };
        self.health.iter().filter_map(rise).collect()
    }
}

/// The value of a label of a series with this name.
fn label<'a>(series: &'a str, name: &str, label: &str) -> Option<&'a str> {
    let (_, value) = series.strip_prefix(name)?.split_once(&format!("{label}=\""))?;
    value.split('"').next()
}
