//! Are ports of one kind equally fast?

use std::collections::BTreeMap;

use super::{Check, count};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;
use railscope_core::report::words::number::bit_rate;

/// Speeds of ports.
pub(super) const CHECK: Check =
    Check { name: "port_speed", asks: "Do ports of one kind run at one speed?", judge };

const SEEN: &str = "/sys/class/infiniband/*/ports/*/rate";

fn judge(facts: &Facts) -> Vec<Outcome> {
    // By board: ConnectX cards of different speeds in one node are usual.
    let mut by_kind: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
    for (device, port) in facts.active_ports() {
        let kind = device.board.clone().or_else(|| device.driver.clone()).unwrap_or_default();
        by_kind
            .entry(kind)
            .or_default()
            .extend(port.rate_bps.map(|rate| (device.port_name(port), rate)));
    }
    let mut outcomes = Vec::new();
    let mut speeds: BTreeMap<u64, usize> = BTreeMap::new();
    for ports in by_kind.values() {
        ports.iter().for_each(|(_, rate)| *speeds.entry(*rate).or_default() += 1);
        let fastest = ports.iter().map(|(_, rate)| *rate).max().unwrap_or(0);
        for (name, rate) in ports.iter().filter(|(_, rate)| *rate < fastest) {
            let says = format!(
                "{name} runs at {}, its twins at {}: a collective is as fast as its slowest rail.",
                bit_rate(*rate as f64),
                bit_rate(fastest as f64)
            );
            outcomes.push(Outcome::warning(says).seen(SEEN).fix(
                "the speed that both ends allow: `ethtool DEV`, the switch port's settings, FEC, cable and transceiver",
            ));
        }
    }
    if outcomes.is_empty() && !speeds.is_empty() {
        let speeds = speeds.iter().map(|(rate, ports)| {
            format!("{} at {}", count(*ports, "port"), bit_rate(*rate as f64))
        });
        outcomes
            .push(Outcome::right(format!("{}.", speeds.collect::<Vec<_>>().join(", "))).seen(SEEN));
    }
    outcomes
}
