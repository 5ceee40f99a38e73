//! Quality of service in the configuration of Arista EOS: `show qos profile`, and `qos map` and
//! `qos profile` of `show running-config`.

use super::super::{Output, Taken, TakesLines};
use super::{eight, numbers, trust_of};
use crate::model::switch::{MapKind, PriorityMap, QosSettings, SwitchTable};

/// Most profiles.
const PROFILES: usize = 256;

/// First words of lines in these sections that say nothing here.
// tidy: table
const OTHER: &[&str] = &[
    "!",
    "bandwidth",
    "latency",
    "no",
    "priority",
    "priority-flow-control",
    "qos",
    "random-detect",
    "service-policy",
    "shape",
];

/// Lines of a configuration that are about quality of service.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct EosConfig {
    maps: Vec<PriorityMap>,
    profiles: Vec<QosSettings>,
    /// The queue whose settings follow.
    queue: Option<u8>,
}

impl EosConfig {
    /// `qos profile ROCE`, `qos map dscp 26 to traffic-class 3`.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_first = matches!(
            words.as_slice(),
            ["qos", "profile", _]
                | ["qos", "map", "dscp" | "cos" | "traffic-class", .., "to", _, _]
        );
        let mut reader = Self::default();
        (is_first && reader.line(&words)).then_some(reader)
    }

    /// Whether a line belongs to these sections.
    fn line(&mut self, words: &[&str]) -> bool {
        match *words {
            ["qos", "profile", name] => {
                let name = Some(name.to_owned());
                self.queue = None;
                if self.profiles.len() < PROFILES {
                    self.profiles.push(QosSettings { name, ..QosSettings::default() });
                }
            }
            ["qos", "map", from, ref keys @ .., "to", to, value] => {
                let kind = match (from, to) {
                    ("dscp", "traffic-class") => MapKind::DscpToClass,
                    ("cos", "traffic-class") => MapKind::PcpToClass,
                    ("traffic-class", "tx-queue" | "uc-tx-queue") => MapKind::ClassToQueue,
                    // What packets are marked with on the way out.
                    _ => return true,
                };
                return self.map(kind, &keys.join(" "), value).is_some();
            }
            ["qos", "trust", what] => self.profile(|profile| profile.trust = trust_of(what)),
            ["priority-flow-control", "priority", ref priorities @ .., "no-drop"] => {
                let on = numbers(&priorities.join(" ")).and_then(|numbers| eight(&numbers));
                self.profile(|profile| add(&mut profile.lossless, on));
            }
            ["uc-tx-queue" | "tx-queue" | "mc-tx-queue", queue] => self.queue = queue.parse().ok(),
            ["random-detect", "ecn", "minimum-threshold", ..] => {
                let on = self.queue.and_then(|queue| eight(&[queue]));
                self.profile(|profile| add(&mut profile.ecn_queues, on));
            }
            [first, ..] => return OTHER.contains(&first),
            [] => {}
        }
        true
    }

    fn profile(&mut self, change: impl FnOnce(&mut QosSettings)) {
        if let Some(profile) = self.profiles.last_mut() {
            change(profile);
        }
    }

    fn map(&mut self, kind: MapKind, keys: &str, value: &str) -> Option<()> {
        let value: u8 = value.parse().ok()?;
        let pairs = numbers(keys)?.into_iter().map(|key| (key, value));
        match self.maps.iter_mut().find(|map| map.kind == kind) {
            Some(map) => map.pairs.extend(pairs),
            None => self.maps.push(PriorityMap { kind, name: None, pairs: pairs.collect() }),
        }
        Some(())
    }
}

/// Sets what is on in `more`, too.
fn add(known: &mut Option<[bool; 8]>, more: Option<[bool; 8]>) {
    let Some(more) = more else { return };
    let known = known.get_or_insert([false; 8]);
    for (known, more) in known.iter_mut().zip(more) {
        *known |= more;
    }
}

impl TakesLines for EosConfig {
    fn take(&mut self, line: &str) -> Taken {
        let words: Vec<&str> = line.split_whitespace().collect();
        if self.line(&words) { Taken::Yes } else { Taken::End }
    }

    fn finish(self) -> Option<Output> {
        let is_told = |profile: &QosSettings| {
            profile.lossless.is_some() || profile.ecn_queues.is_some() || profile.trust.is_some()
        };
        let settings: Vec<QosSettings> = self.profiles.into_iter().filter(is_told).collect();
        let is_read = !settings.is_empty() || !self.maps.is_empty();
        let table = SwitchTable { maps: self.maps, settings, ..SwitchTable::default() };
        is_read.then_some(Output::Switch(table))
    }
}
