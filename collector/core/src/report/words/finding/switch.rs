//! Titles about switches, as their `show` commands describe them.

use super::super::number::{count, counted};
use super::node::names;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::model::switch::Place;

pub(super) fn title(claim: &SwitchClaim) -> String {
    match claim {
        SwitchClaim::Drops { host, period, places, is_lossless } => {
            let lossless = if *is_lossless { ", although it is lossless" } else { "" };
            let what = of_places(host.as_deref(), "dropped", places, "packet");
            format!("{what} {}{lossless}{}", when(*period), more(places))
        }
        SwitchClaim::NoPause { host, period, places, priority, ports } => {
            let what = of_places(host.as_deref(), "dropped", places, "packet");
            let silent = match ports {
                1 => format!("and its port sent no pause frame on priority {priority}"),
                ports => {
                    format!("and none of {ports} ports sent a pause frame on priority {priority}")
                }
            };
            format!("{what} {}, {silent}{}", when(*period), more(places))
        }
        SwitchClaim::Errors { host, period, places } => {
            let what = of_places(host.as_deref(), "received", places, "packet");
            format!("{what} with errors {}{}", when(*period), more(places))
        }
        SwitchClaim::Paused { host, period, places } => {
            let Some((place, received, sent)) = places.first() else { return String::new() };
            format!(
                "{} received {} and sent {} {}{}",
                at(host.as_deref(), place),
                counted(*received, "pause frame"),
                count(*sent),
                when(*period),
                more(places)
            )
        }
        SwitchClaim::Storms { host, period, places, now, dropped } => {
            let dropped = match dropped {
                0 => String::new(),
                dropped => format!(", {} dropped", counted(*dropped, "packet")),
            };
            if let Some(first) = now.first() {
                let others = match now.len() {
                    1 => String::new(),
                    all => format!(" and {} more", all - 1),
                };
                let place = at(host.as_deref(), first);
                return format!("PFC watchdog: {place} is in a storm now{others}{dropped}");
            }
            let Some((place, storms)) = places.first() else { return String::new() };
            format!(
                "PFC watchdog: {} had {} {}{dropped}{}",
                at(host.as_deref(), place),
                counted(*storms, "storm"),
                when(*period),
                more(places)
            )
        }
        SwitchClaim::PfcDiffers { host, interfaces, ports } => {
            let of = |(name, priorities): &(String, String)| format!("{priorities} on {name}");
            let interfaces: Vec<String> = interfaces.iter().map(of).collect();
            let of = |(priorities, ports): &(String, u64)| {
                format!("{priorities} on {}", counted(*ports, "port"))
            };
            let ports: Vec<String> = ports.iter().map(of).collect();
            format!(
                "PFC of hosts and switch differs: {}; {} has {}",
                names(&interfaces),
                host.as_deref().unwrap_or("the switch"),
                names(&ports)
            )
        }
    }
}

/// `leaf1 Ethernet4 queue 3`, `switch port Ethernet4 queue 3`.
fn at(host: Option<&str>, place: &Place) -> String {
    format!("{} {}", host.unwrap_or("switch port"), place.name())
}

/// `leaf1 Ethernet4 queue 3 dropped 7 packets`, of the first.
fn of_places(host: Option<&str>, verb: &str, places: &[(Place, u64)], noun: &str) -> String {
    let Some((place, number)) = places.first() else { return String::new() };
    format!("{} {verb} {}", at(host, place), counted(*number, noun))
}

/// How many places are not named.
fn more<T>(places: &[T]) -> String {
    match places.len().saturating_sub(1) {
        0 => String::new(),
        others => format!("; {others} more like it"),
    }
}

const fn when(period: Period) -> &'static str {
    match period {
        Period::SinceBoot => "since its counters were cleared",
        Period::BetweenReadings => "between two readings",
    }
}
