//! What several tables say of one switch, joined.

use std::collections::BTreeMap;

use super::Found;
use crate::decode::tool::Output;
use crate::model::switch::{
    EcnProfile, MapKind, Measure, Place, PriorityMap, QosSettings, Sample, SwitchPort, SwitchTable,
};
use crate::model::witness::{LogId, Witness};

/// A switch, as its outputs describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// Its name, if a prompt or a launcher's prefix names it.
    pub host: Option<String>,
    /// Its file, where no name is known: a paste without a name is of one switch.
    pub log: LogId,
    /// Counters and high-water marks.
    pub counters: BTreeMap<(Place, Measure), Counted>,
    /// Ports with their settings, by name.
    pub ports: BTreeMap<String, SwitchPort>,
    /// Profiles of WRED and ECN, by name.
    pub profiles: BTreeMap<String, EcnProfile>,
    /// Where traffic goes: a map by what it maps and by its name.
    pub maps: BTreeMap<(MapKind, Option<String>), BTreeMap<u8, u8>>,
    /// Settings of profiles, or of all ports, by name.
    pub settings: BTreeMap<Option<String>, QosSettings>,
    /// By what is mapped: the first line of the last map.
    pub map_lines: BTreeMap<MapKind, (Witness, String)>,
    /// By what was counted: the first line of the last table that has it.
    pub lines: BTreeMap<Measure, (Witness, String)>,
    /// The first line of the last table with settings.
    pub settings_line: Option<(Witness, String)>,
}

/// A counter, read once or twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The last reading.
    pub value: u64,
    /// The first one.
    pub before: Option<u64>,
}

impl Counted {
    /// What was counted: between two readings, or since the counters were cleared.
    #[must_use]
    pub const fn counted(self) -> u64 {
        match self.before {
            Some(before) => self.value.saturating_sub(before),
            None => self.value,
        }
    }
}

/// The switches that outputs describe, in the order of their first output.
#[must_use]
pub fn switches(found: &[Found]) -> Vec<Switch> {
    let mut places: BTreeMap<(Option<&str>, Option<LogId>), usize> = BTreeMap::new();
    let mut switches: Vec<Switch> = Vec::new();
    for one in found {
        let Output::Switch(table) = &one.output else { continue };
        let key = (one.host.as_deref(), one.host.is_none().then_some(one.log));
        let at = *places.entry(key).or_insert_with(|| {
            switches.push(Switch { host: one.host.clone(), log: one.log, ..Switch::default() });
            switches.len() - 1
        });
        if let Some(switch) = switches.get_mut(at) {
            switch.add(table, one);
        }
    }
    switches
}

impl Switch {
    fn add(&mut self, table: &SwitchTable, one: &Found) {
        let line = || (one.witness, one.quote.clone());
        let is_later = self.is_later(&table.samples);
        for sample in &table.samples {
            let key = (sample.place.clone(), sample.measure);
            let known = self.counters.get(&key).copied().filter(|_| is_later);
            let before = known.and_then(|known| known.before.or(Some(known.value)));
            let before = before.filter(|_| !sample.measure.is_gauge());
            self.counters.insert(key, Counted { value: sample.value, before });
            self.lines.insert(sample.measure, line());
        }
        for port in &table.ports {
            self.port(port);
        }
        for map in &table.maps {
            self.map(map);
            self.map_lines.insert(map.kind, line());
        }
        for settings in &table.settings {
            self.setting(settings);
        }
        if !table.ports.is_empty() || !table.settings.is_empty() {
            self.settings_line = Some(line());
        }
        for profile in &table.profiles {
            self.profiles.insert(profile.name.clone(), profile.clone());
        }
    }

    /// Whether a table may be a later reading: no counter fell. If one did, the counters were cleared,
    /// or the table is of another switch.
    fn is_later(&self, samples: &[Sample]) -> bool {
        samples.iter().filter(|sample| !sample.measure.is_gauge()).all(|sample| {
            let known = self.counters.get(&(sample.place.clone(), sample.measure));
            known.is_none_or(|known| known.value <= sample.value)
        })
    }

    /// Several outputs may list parts of one map; of the same key, the later one counts.
    fn map(&mut self, map: &PriorityMap) {
        let known = self.maps.entry((map.kind, map.name.clone())).or_default();
        known.extend(&map.pairs);
    }

    fn setting(&mut self, settings: &QosSettings) {
        let known = self.settings.entry(settings.name.clone()).or_default();
        known.name.clone_from(&settings.name);
        known.lossless = settings.lossless.or(known.lossless);
        known.ecn_queues = settings.ecn_queues.or(known.ecn_queues);
        known.trust = settings.trust.or(known.trust);
    }

    /// Tables report different things of one port; of the same thing, the later table counts.
    fn port(&mut self, port: &SwitchPort) {
        let known = self.ports.entry(port.name.clone()).or_default();
        known.name.clone_from(&port.name);
        known.is_up = port.is_up.or(known.is_up);
        known.is_enabled = port.is_enabled.or(known.is_enabled);
        known.rate_bps = port.rate_bps.or(known.rate_bps);
        known.mtu = port.mtu.or(known.mtu);
        known.lossless = port.lossless.or(known.lossless);
        known.watchdog = port.watchdog.clone().or_else(|| known.watchdog.take());
        known.dscp_map = port.dscp_map.clone().or_else(|| known.dscp_map.take());
        known.queues.extend(port.queues.clone());
    }

    /// What `measure` counted by place, where that is above 0.
    pub fn moved(&self, measure: Measure) -> impl Iterator<Item = (&Place, Counted)> {
        let of = self.counters.iter().filter(move |((_, own), _)| *own == measure);
        of.map(|((place, _), counted)| (place, *counted)).filter(|(_, one)| one.counted() > 0)
    }

    /// Whether any counter of `measure` was read twice.
    #[must_use]
    pub fn is_read_twice(&self, measure: Measure) -> bool {
        self.counters.iter().any(|((_, own), counted)| *own == measure && counted.before.is_some())
    }
}
