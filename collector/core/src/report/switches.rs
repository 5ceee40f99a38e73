//! Switches, as their `show` commands describe them.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::link::tool::switch::Switch;
use crate::model::node::Trust;
use crate::model::switch::{EcnProfile, Measure, QosSettings, SwitchPort};

/// A switch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SwitchReport {
    /// Its name; `null` if no prompt and no launcher's prefix names it.
    pub host: Option<String>,
    /// The file of its first table.
    pub file: Option<String>,
    /// Ports whose settings or states are known.
    pub ports: Vec<SwitchPortReport>,
    /// Counters and high-water marks above 0.
    pub counters: Vec<SwitchCounterReport>,
    /// How many were read.
    pub counters_read: u64,
    /// Profiles of WRED and ECN.
    pub ecn_profiles: Vec<EcnProfileReport>,
    /// Where traffic goes: from DSCP to class, from class to queue and priority group.
    pub qos_maps: Vec<QosMapReport>,
    /// Settings of profiles, or of all ports.
    pub qos_settings: Vec<QosSettingsReport>,
}

/// A map of quality of service. A class is a traffic class, or a `switch-priority` of Cumulus.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QosMapReport {
    /// What is mapped to what: `dscp_to_class`, `pcp_to_class`, `class_to_queue`,
    /// `class_to_priority_group`, `pfc_priority_to_queue`.
    pub kind: &'static str,
    /// Its name; `null` if it has none.
    pub name: Option<String>,
    /// Keys with their values; what is not listed is not known.
    pub pairs: Vec<(u8, u8)>,
}

/// Settings of quality of service that are not those of one port.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QosSettingsReport {
    /// The profile, or the port that a command named; `null` for all ports.
    pub name: Option<String>,
    /// Priorities with priority flow control; `null` if not listed.
    pub pfc_priorities: Option<Vec<u8>>,
    /// Queues in which packets are marked with ECN; `null` if not listed.
    pub ecn_queues: Option<Vec<u8>>,
    /// What decides the class of a packet: `dscp`, `pcp` or `both`; `null` if not listed.
    pub trust: Option<&'static str>,
}

/// A port of a switch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SwitchPortReport {
    /// Its name.
    pub port: String,
    /// Whether its link is up.
    pub is_up: Option<bool>,
    /// Whether it is meant to be up.
    pub is_enabled: Option<bool>,
    /// Rate of its link, bits per second.
    pub rate_bps: Option<u64>,
    /// Largest frame, bytes.
    pub mtu: Option<u32>,
    /// Priorities with priority flow control; `null` if not listed.
    pub pfc_priorities: Option<Vec<u8>>,
    /// What its PFC watchdog does with packets during a storm; `null` if none is listed.
    pub pfc_watchdog: Option<String>,
}

/// A counter or a high-water mark of a switch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SwitchCounterReport {
    /// Port, and queue, priority or priority group.
    pub place: String,
    /// What it counts: packets, pause frames, storms; bytes where the name ends in `_bytes`, bits per second
    /// where it ends in `_bps`.
    pub what: &'static str,
    /// Its last value.
    pub value: u64,
    /// What it rose by between the first and the last reading; `null` if it was read once.
    pub rise: Option<u64>,
}

/// A profile of WRED and ECN.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EcnProfileReport {
    /// Its name.
    pub name: String,
    /// Which packets are marked, as the switch calls it.
    pub ecn: Option<String>,
    /// Length of a queue from which packets are marked, bytes.
    pub min_bytes: Option<u64>,
    /// Length from which all are, bytes.
    pub max_bytes: Option<u64>,
}

/// The switches in the order of their first table.
pub(super) fn section(sources: &Sources<'_>) -> Vec<SwitchReport> {
    sources.state.switches.iter().map(|switch| of_switch(sources, switch)).collect()
}

fn of_switch(sources: &Sources<'_>, switch: &Switch) -> SwitchReport {
    let moved = switch.counters.iter().filter(|(_, counted)| counted.value > 0);
    SwitchReport {
        host: switch.host.clone(),
        file: sources.log_name(switch.log),
        ports: switch.ports.values().map(of_port).collect(),
        counters: moved
            .map(|((place, measure), counted)| SwitchCounterReport {
                place: place.name(),
                what: Measure::name(*measure),
                value: counted.value,
                rise: counted.before.map(|_| counted.counted()),
            })
            .collect(),
        counters_read: switch.counters.len() as u64,
        ecn_profiles: switch.profiles.values().map(of_profile).collect(),
        qos_maps: switch
            .maps
            .iter()
            .map(|((kind, name), pairs)| QosMapReport {
                kind: kind.name(),
                name: name.clone(),
                pairs: pairs.iter().map(|(key, value)| (*key, *value)).collect(),
            })
            .collect(),
        qos_settings: switch.settings.values().map(of_settings).collect(),
    }
}

fn of_port(port: &SwitchPort) -> SwitchPortReport {
    SwitchPortReport {
        port: port.name.clone(),
        is_up: port.is_up,
        is_enabled: port.is_enabled,
        rate_bps: port.rate_bps,
        mtu: port.mtu,
        pfc_priorities: port.lossless.map(numbers),
        pfc_watchdog: port.watchdog.clone(),
    }
}

fn of_profile(profile: &EcnProfile) -> EcnProfileReport {
    EcnProfileReport {
        name: profile.name.clone(),
        ecn: profile.ecn.clone(),
        min_bytes: profile.min_bytes,
        max_bytes: profile.max_bytes,
    }
}

fn of_settings(settings: &QosSettings) -> QosSettingsReport {
    QosSettingsReport {
        name: settings.name.clone(),
        pfc_priorities: settings.lossless.map(numbers),
        ecn_queues: settings.ecn_queues.map(numbers),
        trust: settings.trust.map(Trust::name),
    }
}

/// Numbers of those that are on.
fn numbers(on: [bool; 8]) -> Vec<u8> {
    (0..).zip(on).filter(|(_, is_on)| *is_on).map(|(number, _)| number).collect()
}
