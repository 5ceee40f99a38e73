//! Does each NIC's and GPU's PCIe link run at its best, and carry its port's rate?

use std::collections::BTreeMap;

use super::{Check, count, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::pci::{Function, Link};
use crate::doctor::outcome::Outcome;
use railscope_core::report::words::number::bit_rate;

/// PCIe links.
pub(super) const CHECK: Check = Check {
    name: "pcie_link",
    asks: "Do PCIe links run at full width and speed, and carry the ports' rates?",
    judge,
};

const SEEN: &str = "/sys/bus/pci/devices/*/{current,max}_link_{speed,width}";
/// Share of a link's bits that is left for data after headers of 256-byte packets (PCIe 5.0, 2.2).
const PAYLOAD: f64 = 0.9;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let Ok(pci) = &facts.pci else {
        return facts.pci.as_ref().err().map(Outcome::unknown).into_iter().collect();
    };
    let mut rates: BTreeMap<&str, u64> = BTreeMap::new();
    for (device, port) in facts.active_ports() {
        if let (Some(function), Some(rate)) = (device.function.as_deref(), port.rate_bps) {
            *rates.entry(function).or_default() += rate;
        }
    }
    let mut outcomes = Vec::new();
    let mut good = 0;
    let devices =
        facts.devices().iter().filter_map(|device| pci.functions.get(device.function.as_ref()?));
    let gpus = facts.gpus.iter().filter_map(|gpu| pci.functions.get(&gpu.function));
    let named = devices.chain(gpus).filter_map(|function| Some((function, function.link?)));
    let twins = twins(facts);
    for (function, link) in named {
        if let Some(twin) = twins.get(function.address.as_str()) {
            let names = [function, *twin].map(|one| name(facts, one));
            let says = format!(
                "{} share one port, each with a part of its rate: use both (NCCL_IB_HCA).",
                list(&names)
            );
            // Said once for both; each link alone need not carry the rate.
            if function.address < twin.address {
                outcomes.push(Outcome::note(says).seen(SEEN));
            }
            outcomes.extend(judge_link(facts, function, link, None));
            continue;
        }
        let rate = rates.get(function.address.as_str()).copied();
        match judge_link(facts, function, link, rate) {
            Some(outcome) => outcomes.push(outcome),
            None => good += 1,
        }
    }
    if outcomes.is_empty() && good > 0 {
        outcomes.push(
            Outcome::right(format!(
                "{} of NICs and GPUs at full width and speed.",
                count(good, "PCIe link")
            ))
            .seen(SEEN),
        );
    }
    outcomes
}

/// Functions of two PCIe domains with one place in them, GUID of the card and rate: a card with two links to the host, whose ports
/// show twice (DGX Spark; NVIDIA's socket-direct cards).
fn twins(facts: &Facts) -> BTreeMap<&str, &Function> {
    let Ok(pci) = &facts.pci else { return BTreeMap::new() };
    let place = |address: &str| address.split_once(':').map(|(_, place)| place.to_owned());
    let ports: Vec<_> =
        facts.active_ports().filter(|(device, _)| device.system.is_some()).collect();
    let mut twins = BTreeMap::new();
    for (device, port) in &ports {
        let other = ports.iter().find(|(other, other_port)| {
            other.name != device.name
                && other.system == device.system
                && other_port.rate_bps == port.rate_bps
                && other.function.as_deref().and_then(place)
                    == device.function.as_deref().and_then(place)
        });
        let functions =
            device.function.as_deref().zip(other.and_then(|(other, _)| other.function.as_ref()));
        if let Some((own, other)) =
            functions.and_then(|(own, other)| Some((own, pci.functions.get(other)?)))
        {
            twins.insert(own, other);
        }
    }
    twins
}

fn judge_link(
    facts: &Facts,
    function: &Function,
    link: Link,
    rate: Option<u64>,
) -> Option<Outcome> {
    let Link { speed, width, max_speed, max_width } = link;
    let name = name(facts, function);
    // GPUs lower their speed while they are idle.
    let is_slow = speed < max_speed && !function.is_gpu();
    let is_narrow = width < max_width;
    let carries = link.bits_per_second() * PAYLOAD;
    let is_short = rate.is_some_and(|rate| carries < rate as f64 * 0.98);
    let fix = "reseat the card; the slot's width (`lspci -vv -s ADDRESS`: LnkSta), bifurcation in the BIOS; a riser or retimer";
    let now = format!("{name} is linked at {speed} GT/s x{width}");
    let cards = format!("the card can do {max_speed} GT/s x{max_width}");
    if let (true, Some(rate)) = (is_short, rate) {
        let says = format!(
            "{now}: that carries {} of the port's {}. {}",
            bit_rate(carries),
            bit_rate(rate as f64),
            if is_slow || is_narrow {
                format!("Its link is degraded: {cards}.")
            } else {
                "The card has no more.".to_owned()
            }
        );
        let outcome = if is_slow || is_narrow {
            Outcome::warning(says).fix(fix)
        } else {
            Outcome::note(says)
        };
        return Some(outcome.seen(SEEN));
    }
    if is_slow || is_narrow {
        let says = format!("{now}; {cards}. It still carries its port's rate.");
        return Some(match rate {
            Some(_) => Outcome::note(says).seen(SEEN).fix(fix),
            None => Outcome::warning(format!("{now}; {cards}.")).seen(SEEN).fix(fix),
        });
    }
    None
}

/// The RDMA device or GPU for people, with its address.
pub(super) fn name(facts: &Facts, function: &Function) -> String {
    let device =
        facts.devices().iter().find(|device| device.function.as_ref() == Some(&function.address));
    let kind = match device {
        Some(device) => device.name.as_str(),
        None if function.is_gpu() => "GPU",
        None => "PCIe function",
    };
    format!("{kind} ({})", function.address)
}
