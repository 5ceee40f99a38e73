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
        outcomes.push(
            Outcome::critical(says).seen(SEEN).fix(
                "start a subnet manager (opensm, or the switch's), then `ibstat` shows Active",
            ),
        );
    }
    let down = named(&|port| !port.is_active() && !is_waiting(port));
    if active.is_empty() && waiting.is_empty() {
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
        outcomes.push(some_down(facts, &ports, &down, active.len()));
    }
    if down.is_empty() && waiting.is_empty() {
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

/// A second port without a cable is usual. One that a job is told to use, or whose twins are all up, is not.
fn some_down(facts: &Facts, ports: &[(&Device, &Port)], down: &[String], active: usize) -> Outcome {
    let is_down = |port: &&(&Device, &Port)| !port.1.is_active();
    let twins_are_up = |(device, _): &(&Device, &Port)| {
        let twins =
            ports.iter().filter(|(other, _)| other.board.is_some() && other.board == device.board);
        twins.filter(is_down).count() * 4 <= active
    };
    let selected = super::variables::selected_devices(facts);
    let is_wanted = |(device, _): &(&Device, &Port)| selected.contains(&device.name);
    let says =
        format!("{} of {} down: {}.", down.len(), count(ports.len(), "RDMA port"), list(down));
    let down = || ports.iter().filter(is_down);
    let fix = "`ip link set DEV up`; cable; or leave it out: NCCL_IB_HCA";
    if down().any(is_wanted) {
        Outcome::critical(format!("{says} NCCL_IB_HCA selects it.")).seen(SEEN).fix(fix)
    } else if down().any(|one| twins_are_up(one) && active >= 4) {
        Outcome::warning(format!("{says} Most ports of the same kind are up: a rail is missing."))
            .seen(SEEN)
            .fix(fix)
    } else {
        Outcome::note(format!("{says} NCCL uses those that are up.")).seen(SEEN)
    }
}
