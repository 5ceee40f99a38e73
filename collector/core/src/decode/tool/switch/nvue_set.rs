//! Cumulus Linux's configuration as commands: `nv config show -o commands`.

use super::super::{Output, Taken, TakesLines};
use super::{eight, numbers, trust_of};
use crate::model::switch::{MapKind, PriorityMap, QosSettings, SwitchTable};

/// Commands that set something.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct NvueSet {
    maps: Vec<PriorityMap>,
    settings: Vec<QosSettings>,
}

/// Most profiles.
const PROFILES: usize = 256;

impl NvueSet {
    /// `nv set qos ...`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let mut reader = Self::default();
        let text = line.trim().strip_prefix("nv set qos ")?;
        reader.command(text);
        Some(reader)
    }

    /// A command, without `nv set qos`. What does not name a map or a setting says nothing here.
    fn command(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        match *words {
            ["mapping", profile, "trust", what] => {
                self.settings(profile, |one| one.trust = trust_of(what));
            }
            ["mapping", profile, "dscp", keys, "switch-priority", value] => {
                self.map(MapKind::DscpToClass, profile, keys, value);
            }
            ["mapping", profile, "pcp", keys, "switch-priority", value] => {
                self.map(MapKind::PcpToClass, profile, keys, value);
            }
            ["egress-queue-mapping", profile, "switch-priority", keys, "traffic-class", value] => {
                self.map(MapKind::ClassToQueue, profile, keys, value);
            }
            ["pfc", profile, "switch-priority", priorities] => {
                self.settings(profile, |one| add(&mut one.lossless, priorities));
            }
            [
                "congestion-control",
                profile,
                "traffic-class",
                queues,
                "ecn",
                "enable" | "enabled" | "on",
            ] => {
                self.settings(profile, |one| add(&mut one.ecn_queues, queues));
            }
            _ => {}
        }
    }

    fn map(&mut self, kind: MapKind, profile: &str, keys: &str, value: &str) {
        let Some((keys, value)) = numbers(keys).zip(value.parse::<u8>().ok()) else { return };
        let pairs = keys.into_iter().map(|key| (key, value));
        let is_same =
            |map: &&mut PriorityMap| map.kind == kind && map.name.as_deref() == Some(profile);
        match self.maps.iter_mut().find(is_same) {
            Some(map) => map.pairs.extend(pairs),
            None => {
                let name = Some(profile.to_owned());
                self.maps.truncate(PROFILES);
                self.maps.push(PriorityMap { kind, name, pairs: pairs.collect() });
            }
        }
    }

    /// Changes the settings of a profile.
    fn settings(&mut self, profile: &str, change: impl FnOnce(&mut QosSettings)) {
        let is_same = |one: &&mut QosSettings| one.name.as_deref() == Some(profile);
        if let Some(known) = self.settings.iter_mut().find(is_same) {
            return change(known);
        }
        let mut settings = QosSettings { name: Some(profile.to_owned()), ..QosSettings::default() };
        change(&mut settings);
        self.settings.truncate(PROFILES);
        self.settings.push(settings);
    }
}

fn add(known: &mut Option<[bool; 8]>, more: &str) {
    let Some(more) = numbers(more).and_then(|numbers| eight(&numbers)) else { return };
    let known = known.get_or_insert([false; 8]);
    for (known, more) in known.iter_mut().zip(more) {
        *known |= more;
    }
}

impl TakesLines for NvueSet {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        if let Some(text) = text.strip_prefix("nv set qos ") {
            self.command(text);
        }
        if text.starts_with("nv set ") { Taken::Yes } else { Taken::End }
    }

    fn finish(self) -> Option<Output> {
        let is_read = !self.maps.is_empty() || !self.settings.is_empty();
        let Self { maps, settings } = self;
        is_read.then(|| Output::Switch(SwitchTable { maps, settings, ..SwitchTable::default() }))
    }
}
