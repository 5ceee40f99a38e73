//! Titles about switches, as their `show` commands describe them.

use super::super::number::{count, counted};
use super::node::names;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::{DscpUse, SwitchClaim};
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
            let of = |(priorities, ports): &(String, u64)| match ports {
                0 => format!("{priorities} in its settings"),
                ports => format!("{priorities} on {}", counted(*ports, "port")),
            };
            let ports: Vec<String> = ports.iter().map(of).collect();
            format!(
                "PFC of hosts and switch differs: {}; {} has {}",
                names(&interfaces),
                host.as_deref().unwrap_or("the switch"),
                names(&ports)
            )
        }
        SwitchClaim::DscpDiffers { host, uses } => {
            let uses: Vec<String> = uses.iter().map(|one| dscp_use(host.as_deref(), one)).collect();
            format!("DSCPs of hosts and switch differ: {}", uses.join("; "))
        }
        SwitchClaim::TrustDiffers { host, interfaces } => format!(
            "{} trusts the PCP alone, {} the DSCP",
            host.as_deref().unwrap_or("the switch"),
            names(interfaces)
        ),
        SwitchClaim::EcnDiffers { host, priorities, queues, marked } => {
            let marked = match marked.as_slice() {
                [] => "it marks none".to_owned(),
                marked => format!("it marks {}", numbered("queue", marked)),
            };
            format!(
                "{} marks no packet with ECN in {}, where {} leaves; {marked}",
                host.as_deref().unwrap_or("the switch"),
                numbered("queue", queues),
                numbered("lossless priority", priorities)
            )
        }
    }
}

/// `n1 eth2 puts DSCPs 24 to 31 in priority 3, leaf1 in priority 1, and DSCP 3 in priority 3`.
fn dscp_use(host: Option<&str>, one: &DscpUse) -> String {
    let verb = if one.interfaces.len() == 1 { "puts" } else { "put" };
    let there = match one.there.as_slice() {
        [] => "elsewhere".to_owned(),
        there => format!("in {}", numbered("priority", there)),
    };
    let own = match one.own.as_slice() {
        [] => "none".to_owned(),
        own => numbered("DSCP", own),
    };
    format!(
        "{} {verb} {} in priority {}, {} {there} and {own} in priority {}",
        names(&one.interfaces),
        numbered("DSCP", &one.dscps),
        one.priority,
        host.unwrap_or("the switch"),
        one.priority
    )
}

/// `DSCP 26`, `DSCPs 24 to 31 and 48`, `queues 3 and 4`.
fn numbered(noun: &str, numbers: &[u8]) -> String {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for number in numbers {
        match ranges.last_mut().filter(|(_, last)| last.checked_add(1) == Some(*number)) {
            Some((_, last)) => *last = *number,
            None => ranges.push((*number, *number)),
        }
    }
    let of = |&(first, last): &(u8, u8)| match last - first {
        0 => first.to_string(),
        1 => format!("{first} and {last}"),
        _ => format!("{first} to {last}"),
    };
    let ranges: Vec<String> = ranges.iter().map(of).collect();
    let noun = match (numbers.len(), noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{noun} {}", names(&ranges))
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
