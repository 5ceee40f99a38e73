//! Tables of Cumulus Linux: maps below `nv show qos roce` and `nv show interface swp1 qos mapping`, and
//! `nv show interface swp1 counters qos`, whose first column is the queue. The port is in the command.

use std::collections::BTreeMap;

use super::super::{Output, Taken, TakesLines};
use super::nvue::interface;
use super::{count, numbers};
use crate::model::switch::{
    Lane, LaneKind, MapKind, Measure, Place, PriorityMap, Sample, SwitchTable,
};

/// The line of dashes below a head shows whether a column without a name stands first.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    named: usize,
    /// Columns without a name before them; `None` until the dashes were read.
    unnamed: Option<usize>,
}

impl Columns {
    /// Whether this line has the dashes; it is then read.
    fn dashes(&mut self, text: &str) -> bool {
        let is_dashes = !text.is_empty() && text.bytes().all(|byte| b"- ".contains(&byte));
        if is_dashes {
            let all = text.split_whitespace().count();
            self.unnamed = Some(all.saturating_sub(self.named));
        }
        is_dashes
    }

    /// A row without what stands before the named columns.
    fn named<'a, 'b>(&self, words: &'a [&'b str]) -> Option<&'a [&'b str]> {
        let extra = words.len().saturating_sub(self.named);
        words.get(self.unnamed.unwrap_or(extra)..)
    }
}

/// A map with a head.
#[derive(Clone, Debug)]
pub(in super::super) struct NvueMap {
    columns: Columns,
    /// Where the keys are, and where the value.
    at: (usize, usize),
    found: PriorityMap,
}

impl NvueMap {
    /// `pcp  dscp  switch-prio`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (kind, at) = match words.as_slice() {
            ["pcp", "dscp", "switch-prio" | "switch-priority"] => (MapKind::DscpToClass, (1, 2)),
            ["dscp", "switch-prio" | "switch-priority"] => (MapKind::DscpToClass, (0, 1)),
            ["802.1p" | "pcp", "switch-prio" | "switch-priority"] => (MapKind::PcpToClass, (0, 1)),
            ["switch-prio" | "switch-priority", "traffic-class"]
            | ["switch-prio" | "switch-priority", "traffic-class", "scheduler-weight"] => {
                (MapKind::ClassToQueue, (0, 1))
            }
            _ => return None,
        };
        let columns = Columns { named: words.len(), unnamed: None };
        let found = PriorityMap { kind, name: None, pairs: BTreeMap::new() };
        Some(Self { columns, at, found })
    }

    fn row(&mut self, text: &str) -> Option<()> {
        let words = text.replace("strict priority", "strict-priority");
        let words: Vec<&str> = words.split_whitespace().collect();
        let words = self.columns.named(&words)?;
        let (key, value) = self.at;
        let (key, value) = (*words.get(key)?, *words.get(value)?);
        let value: u8 = value.parse().ok()?;
        if key != "-" {
            self.found.pairs.extend(numbers(key)?.into_iter().map(|key| (key, value)));
        }
        Some(())
    }
}

impl TakesLines for NvueMap {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        let is_own = !text.is_empty() && (self.columns.dashes(text) || self.row(text).is_some());
        if is_own { Taken::Yes } else { Taken::End }
    }

    fn finish(self) -> Option<Output> {
        let is_read = !self.found.pairs.is_empty();
        let maps = vec![self.found];
        is_read.then(|| Output::Switch(SwitchTable { maps, ..SwitchTable::default() }))
    }
}

/// Columns of counters in packets or frames; those in bytes are not read.
// tidy: table
const COUNTERS: &[(&str, Measure)] = &[
    ("rx-pause-frames", Measure::PauseReceived),
    ("tx-pause-frames", Measure::PauseSent),
    ("ecn-marked-frames", Measure::EcnMarked),
    ("wred-discards", Measure::WredDrops),
    ("deadlock-count", Measure::StormsDetected),
    ("status", Measure::InStorm),
];

/// Counters of a port by queue, priority or priority group.
#[derive(Clone, Debug)]
pub(in super::super) struct NvueCounters {
    columns: Columns,
    kind: LaneKind,
    /// By column: what it counts.
    measures: Vec<Option<Measure>>,
    port: String,
    samples: Vec<Sample>,
}

/// What stands for the port where no command names it.
const NO_PORT: &str = "?";

impl NvueCounters {
    /// `switch-priority  rx-pause-frames  ...`.
    pub(super) fn begin(line: &str, command: Option<&str>) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let kind = match *words.first()? {
            "switch-priority" => LaneKind::Priority,
            "traffic-class" => LaneKind::Queue,
            _ => return None,
        };
        let of = |word: &&str| {
            let known = COUNTERS.iter().find(|(name, _)| name == word);
            known.map(|(_, measure)| *measure)
        };
        let measures: Vec<Option<Measure>> = words.iter().map(of).collect();
        // A state alone is of any table.
        measures.iter().any(|measure| measure.is_some_and(|one| one != Measure::InStorm)).then(
            || Self {
                columns: Columns { named: words.len(), unnamed: None },
                kind,
                measures,
                port: command.and_then(interface).unwrap_or(NO_PORT).to_owned(),
                samples: Vec::new(),
            },
        )
    }

    fn row(&mut self, text: &str) -> Option<()> {
        // Sizes have units.
        let is_value = |word: &&str| !matches!(*word, "Bytes" | "KB" | "MB" | "GB" | "TB");
        let words: Vec<&str> = text.split_whitespace().filter(is_value).collect();
        let words = self.columns.named(&words)?;
        if words.len() != self.measures.len() {
            return None;
        }
        let number = words.first()?.parse().ok().filter(|number| *number < 64)?;
        let lane = Some(Lane { kind: self.kind, number });
        for (word, measure) in words.iter().zip(&self.measures) {
            let Some(measure) = *measure else { continue };
            let value = match measure {
                Measure::InStorm => Some(u64::from(word.eq_ignore_ascii_case("deadlock"))),
                _ => count(word)?,
            };
            let place = Place { port: self.port.clone(), lane };
            self.samples.extend(value.map(|value| Sample { place, measure, value }));
        }
        Some(())
    }
}

/// Most rows.
const SAMPLES: usize = 1024;

impl TakesLines for NvueCounters {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if text.is_empty() && self.samples.is_empty() {
            return Taken::Yes;
        }
        let is_own = !text.is_empty()
            && self.samples.len() < SAMPLES
            && (self.columns.dashes(text) || self.row(text).is_some());
        if is_own { Taken::Yes } else { Taken::End }
    }

    fn finish(self) -> Option<Output> {
        let samples = self.samples;
        (!samples.is_empty())
            .then(|| Output::Switch(SwitchTable { samples, ..SwitchTable::default() }))
    }
}
