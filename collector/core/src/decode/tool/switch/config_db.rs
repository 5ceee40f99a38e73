//! Quality of service in SONiC's `/etc/sonic/config_db.json`, as `show runningconfiguration all`
//! prints it, too: one table a reader, also without what stands around it
//! (`sonic-buildimage/src/sonic-yang-models/doc/Configuration.md`).

use serde_json::{Map, Value};

use super::super::braces::Braces;
use super::super::{Output, Taken, TakesLines};
use super::{eight, numbers};
use crate::model::switch::{EcnProfile, MapKind, PriorityMap, SwitchPort, SwitchTable};

/// Tables that are read.
// tidy: table
const TABLES: &[&str] = &[
    "DSCP_TO_TC_MAP",
    "DOT1P_TO_TC_MAP",
    "TC_TO_QUEUE_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PORT_QOS_MAP",
    "QUEUE",
    "WRED_PROFILE",
    "PFC_WD",
];

/// A table, until its braces are closed, or all of them in one line.
#[derive(Clone, Debug)]
pub(in super::super) struct ConfigDb {
    table: Braces,
    is_one_line: bool,
}

impl ConfigDb {
    /// `"DSCP_TO_TC_MAP": {`, or the whole document in one line.
    pub(super) fn begin(line: &str) -> Option<Self> {
        let text = line.trim();
        let name = text.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let is_table = name.is_some_and(|(name, rest)| {
            TABLES.contains(&name) && rest.trim_start().starts_with(':') && rest.contains('{')
        });
        let is_one_line = text.starts_with('{')
            && text.ends_with('}')
            && ["_TO_TC_MAP\"", "PORT_QOS_MAP\""].iter().any(|mark| text.contains(mark));
        if !is_table && !is_one_line {
            return None;
        }
        Some(Self { table: Braces::begin(text), is_one_line })
    }

    /// Whether the first line closes what it opens.
    pub(super) const fn is_whole(&self) -> bool {
        self.table.is_closed()
    }
}

impl TakesLines for ConfigDb {
    fn take(&mut self, line: &str) -> Taken {
        let text = line.trim();
        let is_json = text.starts_with(['"', '{', '}']) || text.is_empty();
        if !is_json || !self.table.add(text) {
            return Taken::End;
        }
        if self.is_whole() { Taken::Last } else { Taken::Yes }
    }

    fn finish(self) -> Option<Output> {
        // The last line may close what is around the table, too.
        let text = self.table.text().trim_end().trim_end_matches(',');
        let whole = if self.is_one_line { text.to_owned() } else { ["{", text, "}"].concat() };
        let tables: Map<String, Value> = serde_json::from_str(&whole).ok()?;
        let mut found = SwitchTable::default();
        for (name, table) in &tables {
            let Value::Object(table) = table else { continue };
            add_table(&mut found, name, table);
        }
        (found != SwitchTable::default()).then_some(Output::Switch(found))
    }
}

fn add_table(found: &mut SwitchTable, name: &str, table: &Map<String, Value>) {
    let entries = || table.iter().filter_map(|(key, value)| Some((key, value.as_object()?)));
    let mut maps = |kind| found.maps.extend(entries().map(|(key, entry)| map(kind, key, entry)));
    match name {
        "DSCP_TO_TC_MAP" => maps(MapKind::DscpToClass),
        "DOT1P_TO_TC_MAP" => maps(MapKind::PcpToClass),
        "TC_TO_QUEUE_MAP" => maps(MapKind::ClassToQueue),
        "TC_TO_PRIORITY_GROUP_MAP" => maps(MapKind::ClassToGroup),
        "MAP_PFC_PRIORITY_TO_QUEUE" => maps(MapKind::PfcToQueue),
        "PORT_QOS_MAP" => entries().for_each(|(key, entry)| {
            found.ports.extend(ports(key).map(|port| of_port(port, entry)));
        }),
        "QUEUE" => entries().for_each(|(key, entry)| add_queue(&mut found.ports, key, entry)),
        "WRED_PROFILE" => {
            found.profiles.extend(entries().map(|(key, entry)| profile(key, entry)));
        }
        "PFC_WD" => entries().for_each(|(key, entry)| {
            let Some(action) = text_of(entry, "action") else { return };
            let watchdog = Some(action.to_owned());
            let of = |port: &str| SwitchPort {
                name: port.to_owned(),
                watchdog: watchdog.clone(),
                ..SwitchPort::default()
            };
            found.ports.extend(ports(key).map(of));
        }),
        _ => {}
    }
}

/// `"AZURE": {"3": "3"}`; keys of maps to queues may be ranges.
fn map(kind: MapKind, name: &str, entry: &Map<String, Value>) -> PriorityMap {
    let pairs = entry.iter().filter_map(|(key, value)| {
        let value: u8 = value.as_str()?.parse().ok()?;
        Some(numbers(key)?.into_iter().map(move |key| (key, value)))
    });
    PriorityMap { kind, name: Some(name.to_owned()), pairs: pairs.flatten().collect() }
}

/// `Ethernet0,Ethernet4` of older releases.
fn ports(key: &str) -> impl Iterator<Item = &str> {
    key.split(',').map(str::trim).filter(|port| !port.is_empty())
}

fn of_port(port: &str, entry: &Map<String, Value>) -> SwitchPort {
    let pfc = text_of(entry, "pfc_enable").unwrap_or_default();
    SwitchPort {
        name: port.to_owned(),
        lossless: match pfc.trim() {
            // Without the key, a port has no PFC; `global` only has maps of the whole switch.
            "" => (port != "global").then_some([false; 8]),
            pfc => numbers(pfc).and_then(|numbers| eight(&numbers)),
        },
        dscp_map: text_of(entry, "dscp_to_tc_map").map(reference),
        ..SwitchPort::default()
    }
}

/// `"Ethernet0|3-4": {"wred_profile": "AZURE_LOSSLESS"}`; of a chassis, host and ASIC stand before it.
fn add_queue(found: &mut Vec<SwitchPort>, key: &str, entry: &Map<String, Value>) {
    let Some((place, queues)) = key.rsplit_once('|') else { return };
    let Some(queues) = numbers(queues) else { return };
    let profile = text_of(entry, "wred_profile").map(reference);
    for port in ports(place.rsplit('|').next().unwrap_or(place)) {
        found.push(SwitchPort {
            name: port.to_owned(),
            queues: queues.iter().map(|queue| (*queue, profile.clone())).collect(),
            ..SwitchPort::default()
        });
    }
}

fn profile(name: &str, entry: &Map<String, Value>) -> EcnProfile {
    let bytes = |key| text_of(entry, key).and_then(|text| text.parse().ok());
    EcnProfile {
        name: name.to_owned(),
        ecn: text_of(entry, "ecn").map(str::to_owned),
        min_bytes: bytes("green_min_threshold"),
        max_bytes: bytes("green_max_threshold"),
    }
}

fn text_of<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    entry.get(key)?.as_str()
}

/// `AZURE`, or `[DSCP_TO_TC_MAP|AZURE]` of releases before 2021.
fn reference(text: &str) -> String {
    let inner = text.trim_matches(['[', ']']);
    inner.rsplit('|').next().unwrap_or(inner).to_owned()
}
