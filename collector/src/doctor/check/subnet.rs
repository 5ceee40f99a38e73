//! Has a subnet manager set up the InfiniBand ports, and may they speak with all others of their partition?

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::environment::Variable;
use crate::doctor::fact::rdma::{Device, Port};
use crate::doctor::outcome::Outcome;
use railscope_core::model::node::LinkLayer;

/// LIDs and P_Keys.
pub(super) const CHECK: Check = Check {
    name: "subnet",
    asks: "Are InfiniBand ports in a subnet, and full members of the job's partition?",
    judge,
};

const SEEN: &str = "/sys/class/infiniband/*/ports/*/{lid,sm_lid,pkeys}";

/// Set in the P_Key of full members; two limited members cannot speak with each other (InfiniBand Architecture, 10.9.1).
const FULL_MEMBER: u16 = 0x8000;

fn judge(facts: &Facts) -> Vec<Outcome> {
    let selected = super::variables::selected_devices(facts);
    let ports: Vec<(&Device, &Port)> = facts
        .active_ports()
        .filter(|(_, port)| port.link_layer == Some(LinkLayer::InfiniBand))
        .filter(|(device, _)| selected.is_empty() || selected.contains(&device.name))
        .collect();
    let named = |is_meant: &dyn Fn(&Port) -> bool| -> Vec<String> {
        let meant = ports.iter().filter(|(_, port)| is_meant(port));
        meant.map(|(device, port)| device.port_name(port)).collect()
    };
    let mut outcomes = Vec::new();
    let unmanaged = named(&|port| port.lid == Some(0) || port.manager_lid == Some(0));
    if !unmanaged.is_empty() {
        let says = format!(
            "{}: no LID, or no subnet manager known. Paths to other hosts cannot be resolved.",
            list(&unmanaged)
        );
        let fix = "`sminfo`; start a subnet manager (opensm, or the switch's)";
        // Others that are set up carry the job.
        let outcome = match unmanaged.len() < ports.len() {
            true => Outcome::warning(says),
            false => Outcome::critical(says),
        };
        outcomes.push(outcome.seen(SEEN).fix(fix));
    }
    let unread = named(&|port| port.lid.is_none() || port.partitions.is_empty());
    if !unread.is_empty() {
        let says = format!("Not checked: LID and P_Keys of {}.", list(&unread));
        outcomes.push(Outcome::unseen(says).seen(SEEN));
    }
    let index = super::variables::effective(facts, "NCCL_IB_PKEY").map_or(0, Variable::number);
    let key = |port: &Port| {
        let found = port.partitions.iter().find(|(at, _)| i64::from(*at) == index);
        found.map(|(_, key)| *key)
    };
    let with_keys = |port: &Port| !port.partitions.is_empty();
    let without = named(&|port| with_keys(port) && key(port).is_none());
    if !without.is_empty() {
        let says = format!(
            "{}: no P_Key at index {index}, which NCCL_IB_PKEY names: queue pairs cannot be set up.",
            list(&without)
        );
        outcomes.push(
            Outcome::critical(says).seen(SEEN).fix("unset NCCL_IB_PKEY, or name an index in use"),
        );
    }
    let limited = named(&|port| key(port).is_some_and(|key| key & FULL_MEMBER == 0));
    if !limited.is_empty() {
        let says = format!(
            "{}: a limited member of its partition (P_Key index {index}): it reaches full members only, not hosts set up like \
             this one.",
            list(&limited)
        );
        let fix =
            "full membership in the subnet manager (partitions.conf: `=full`), or NCCL_IB_PKEY";
        outcomes.push(Outcome::critical(says).seen(SEEN).fix(fix));
    }
    let read = named(&|port| port.lid.is_some() && with_keys(port));
    if outcomes.is_empty() && !read.is_empty() {
        let says = format!("{}: LID set, full member of its partition.", list(&read));
        outcomes.push(Outcome::right(says).seen(SEEN));
    }
    outcomes
}
