//! Choices for one report.

use std::collections::BTreeMap;

use crate::model::time::Timestamp;

/// How much a report lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Counts and totals.
    #[default]
    Summary,
    /// Also every recovery episode, pause, counter rise and signal: what a chart over time needs.
    Events,
    /// Also every message.
    Full,
}

/// Choices for one report.
#[derive(Clone, Debug, Default)]
pub struct ReportContext {
    /// Options that shaped the report.
    pub options: BTreeMap<String, String>,
    /// Queue pair numbers that the report is restricted to; empty for all.
    pub qpns: Vec<u32>,
    /// Origin of times: the first frame of the input, which may be earlier than the first one
    /// processed. `None` for the first one processed.
    pub origin: Option<Timestamp>,
    /// How much to list.
    pub detail: Detail,
    /// List only so many queue pairs, the worst, and no flows: most of the memory of a report is their rows.
    pub only_worst: Option<usize>,
}
