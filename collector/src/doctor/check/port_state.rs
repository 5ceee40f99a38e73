//! Do the ports have a link?

use super::{Check, count, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::rdma::{Device, Port};
use crate::doctor::outcome::Outcome;
use railscope_core::model::counter::PortState;
use railscope_core::model::node::LinkLayer;

/// States of ports.
pub(super) const CHECK: Check =
    Check { name: "port_state", asks: "Do the RDMA ports have a link?", judge };

const SEEN: &str = "/sys/class/infiniband/*/ports/*/{state,phys_state}";

fn judge(facts: &Facts) -> Vec<Outcome> {
    let ports: Vec<(&Device, &Port)> = facts
        .devices()
        .iter()
        // EFA's driver always says that its port is active.
        .filter(|device| !device.is_efa())
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)))
        .collect();
    let named = |wanted: &dyn Fn(&Port) -> bool| -> Vec<String> {
        let wanted = ports.iter().filter(|(_, port)| wanted(port));
        wanted.map(|(device, port)| device.port_name(port)).collect()
    };
    let active = named(&Port::is_active);
    let mut outcomes = Vec::new();
    if ports.is_empty() {
        return outcomes;
    }
    let is_waiting = |port: &Port| {
        port.link_layer == Some(LinkLayer::InfiniBand)
            && matches!(port.state, Some(PortState::Initialize | PortState::Armed))
    };
    let waiting = named(&is_waiting);
    if !waiting.is_empty() {
        let says = format!("{}: linked, but no subnet manager has brought it up.", list(&waiting));
        // Others that are active carry the job, on one rail less.
        let outcome = match active.is_empty() {
            true => Outcome::critical(says),
            false => Outcome::warning(says),
        };
        let fix = "start a subnet manager (opensm, or the switch's), then `ibstat` shows Active";
        outcomes.push(outcome.seen(SEEN).fix(fix));
    }
    let unread = named(&|port| port.state.is_none());
    if !unread.is_empty() {
        outcomes.push(
            Outcome::unseen(format!("Not checked: the state of {}.", list(&unread))).seen(SEEN),
        );
    }
    let is_down = |port: &Port| port.state.is_some() && !port.is_active() && !is_waiting(port);
    let down_ports: Vec<(&Device, &Port)> =
        ports.iter().filter(|(_, port)| is_down(port)).copied().collect();
    let down = named(&is_down);
    if active.is_empty() && waiting.is_empty() && !down.is_empty() {
        let says = format!(
            "No RDMA port is active: {} down ({}).",
            count(down.len(), "port"),
            list(&down)
        );
        outcomes.push(
            Outcome::critical(says)
                .seen(SEEN)
                .fix("`ip link set DEV up`; then cable, transceiver (`ethtool -m`), switch port"),
        );
    } else if !down.is_empty() {
        outcomes.push(some_down(facts, &ports, &down_ports));
    }
    if down.is_empty() && waiting.is_empty() && unread.is_empty() {
        outcomes.push(Outcome::right(all_active(active.len())).seen(SEEN));
    }
    outcomes
}

fn all_active(ports: usize) -> String {
    match ports {
        1 => "The RDMA port is active.".to_owned(),
        ports => format!("All {ports} RDMA ports are active."),
    }
}

/// A second port without a cable is usual. One that a job names, or whose twins are up, is not.
fn some_down(facts: &Facts, ports: &[(&Device, &Port)], down: &[(&Device, &Port)]) -> Outcome {
    let named = super::variables::named_ports(facts);
    let is_named = |(device, port): &(&Device, &Port)| {
        let is_it = |(name, number): &(String, Option<u32>)| {
            *name == device.name && number.is_none_or(|number| number == port.number)
        };
        named.iter().any(is_it)
    };
    // Boards of one kind, of which most are up.
    let twins_are_up = |(device, port): &(&Device, &Port)| {
        let is_twin = |(other, other_port): &&(&Device, &Port)| {
            other.board.is_some() && other.board == device.board && other_port.number == port.number
        };
        let up = ports.iter().filter(is_twin).filter(|(_, port)| port.is_active()).count();
        let all = ports.iter().filter(is_twin).count();
        up >= 3 && (all - up) * 4 <= all
    };
    let names: Vec<String> = down.iter().map(|(device, port)| device.port_name(port)).collect();
    let says =
        format!("{} of {} down: {}.", down.len(), count(ports.len(), "RDMA port"), list(&names));
    let fix = "`ip link set DEV up`; cable; or leave it out: NCCL_IB_HCA";
    let is_any_named_up =
        ports.iter().filter(|one| is_named(one)).any(|(_, port)| port.is_active());
    if down.iter().any(is_named) && !is_any_named_up {
        Outcome::critical(format!("{says} NCCL_IB_HCA names no port that is up."))
            .seen(SEEN)
            .fix(fix)
    } else if down.iter().any(is_named) {
        Outcome::warning(format!("{says} NCCL_IB_HCA names it.")).seen(SEEN).fix(fix)
    } else if down.iter().any(twins_are_up) {
        Outcome::warning(format!("{says} Most ports of the same kind are up: a rail is missing."))
            .seen(SEEN)
            .fix(fix)
    } else {
        Outcome::note(format!("{says} NCCL uses those that are up.")).seen(SEEN)
    }
}
