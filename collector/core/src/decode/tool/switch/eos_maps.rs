//! Maps in `show qos maps` of Arista EOS: a table of DSCPs by tens and units, and rows of classes above
//! rows of queues.

use std::collections::BTreeMap;

use super::super::{Output, Taken, TakesLines};
use super::is_rule;
use crate::model::switch::{MapKind, PriorityMap, SwitchTable};

/// A map, from its title on.
#[derive(Clone, Debug)]
pub(in super::super) struct EosMap {
    found: PriorityMap,
    /// Keys of the rows of two, until their values come.
    keys: Vec<u8>,
}

impl EosMap {
    /// `Dscp-tc map:`, `Cos-tc map:`, `Tc - tx-queue map:`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let text = line.trim();
        if text.len() > 32 || !text.ends_with(':') {
            return None;
        }
        let text: String = text.chars().filter(|c| *c != ' ').collect();
        let kind = match text.to_ascii_lowercase().as_str() {
            "dscp-tcmap:" => MapKind::DscpToClass,
            "cos-tcmap:" => MapKind::PcpToClass,
            "tc-tx-queuemap:" | "tc-uc-tx-queuemap:" => MapKind::ClassToQueue,
            _ => return None,
        };
        let found = PriorityMap { kind, name: None, pairs: BTreeMap::new() };
        Some(Self { found, keys: Vec::new() })
    }

    fn dscps(&mut self, tens: &str, units: &str) -> Option<()> {
        let tens: u8 = tens.trim().parse().ok().filter(|tens| *tens < 7)?;
        for (unit, class) in (0_u8..10).zip(units.split_whitespace()) {
            let dscp = tens.checked_mul(10)?.checked_add(unit).filter(|dscp| *dscp < 64)?;
            self.found.pairs.insert(dscp, class.parse().ok()?);
        }
        Some(())
    }

    /// Keys first, then values.
    fn pairs(&mut self, numbers: &str) -> Option<Taken> {
        let numbers: Option<Vec<u8>> =
            numbers.split_whitespace().map(|word| word.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
        if self.keys.is_empty() {
            self.keys = numbers;
            return Some(Taken::Yes);
        }
        if numbers.len() != self.keys.len() {
            return None;
        }
        self.found.pairs.extend(self.keys.drain(..).zip(numbers));
        Some(Taken::Last)
    }
}

impl TakesLines for EosMap {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if is_rule(text) {
            return Taken::Yes;
        }
        let Some((label, values)) = text.split_once(':') else { return Taken::End };
        if self.found.kind == MapKind::DscpToClass {
            let is_head = label.trim() == "d1";
            return match is_head || self.dscps(label, values).is_some() {
                true => Taken::Yes,
                false => Taken::End,
            };
        }
        let is_label = matches!(label.trim(), "cos" | "tc" | "tx-queue" | "uc-tx-queue");
        is_label.then(|| self.pairs(values)).flatten().unwrap_or(Taken::End)
    }

    fn finish(self) -> Option<Output> {
        let is_read = !self.found.pairs.is_empty();
        let maps = vec![self.found];
        is_read.then(|| Output::Switch(SwitchTable { maps, ..SwitchTable::default() }))
    }
}
