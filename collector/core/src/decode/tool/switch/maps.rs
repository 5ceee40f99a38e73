//! Maps with a title and two columns: `show qos map dscp-tc` of Enterprise SONiC (Broadcom, Dell) and
//! `show qos dscp-tc` of Edgecore's SONiC, with their maps of queues and priority groups.

use std::collections::BTreeMap;

use super::super::{Output, Taken, TakesLines};
use super::{is_rule, numbers};
use crate::model::switch::{MapKind, PriorityMap, SwitchTable};

/// What stands above the columns.
// tidy: table
const TITLES: &[(&str, MapKind)] = &[
    ("DSCP-TC-MAP:", MapKind::DscpToClass),
    ("dscp-tc policy:", MapKind::DscpToClass),
    ("DOT1P-TC-MAP:", MapKind::PcpToClass),
    ("dot1p-tc policy:", MapKind::PcpToClass),
    ("TC-QUEUE-MAP:", MapKind::ClassToQueue),
    ("TC-Q-MAP:", MapKind::ClassToQueue),
    ("tc-queue policy:", MapKind::ClassToQueue),
    ("TC-PG-MAP:", MapKind::ClassToGroup),
    ("TC-PRIORITY-GROUP-MAP:", MapKind::ClassToGroup),
    ("tc-pg policy:", MapKind::ClassToGroup),
    ("PFC-PRIORITY-QUEUE-MAP:", MapKind::PfcToQueue),
    ("pfc-queue policy:", MapKind::PfcToQueue),
];

/// A map, from its title on.
#[derive(Clone, Debug)]
pub(in super::super) struct NamedMap {
    found: PriorityMap,
}

impl NamedMap {
    /// `DSCP-TC-MAP: ROCE`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let text = line.trim();
        let is_title = |title: &&str| {
            text.get(..title.len()).is_some_and(|start| start.eq_ignore_ascii_case(title))
        };
        let (title, kind) = TITLES.iter().find(|(title, _)| is_title(title))?;
        let name = text.get(title.len()..)?.trim();
        let is_name = !name.is_empty() && !name.contains(' ') && name.len() <= 64;
        let found =
            PriorityMap { kind: *kind, name: Some(name.to_owned()), pairs: BTreeMap::new() };
        is_name.then_some(Self { found })
    }

    /// `0-3,5-7   0`, `0 1 2 3  0`: keys, then their value.
    fn row(&mut self, text: &str) -> Option<()> {
        let (keys, value) = text.rsplit_once([' ', '\t'])?;
        let value: u8 = value.parse().ok()?;
        self.found.pairs.extend(numbers(keys)?.into_iter().map(|key| (key, value)));
        Some(())
    }
}

impl TakesLines for NamedMap {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        let is_head = || {
            self.found.pairs.is_empty()
                && text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
        };
        if is_rule(text) || is_head() || self.row(text).is_some() { Taken::Yes } else { Taken::End }
    }

    fn finish(self) -> Option<Output> {
        let is_read = !self.found.pairs.is_empty();
        let maps = vec![self.found];
        is_read.then(|| Output::Switch(SwitchTable { maps, ..SwitchTable::default() }))
    }
}
