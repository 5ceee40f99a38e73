//! May this user open the RDMA devices?

use super::{Check, count, list};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// `/dev/infiniband`.
pub(super) const CHECK: Check =
    Check { name: "character_devices", asks: "May a process open the RDMA devices?", judge };

const SEEN: &str = "/dev/infiniband";

fn judge(facts: &Facts) -> Vec<Outcome> {
    if facts.devices().is_empty() {
        return Vec::new();
    }
    let there = &facts.resources.character_devices;
    let is_there = |name: &str| there.iter().any(|(known, _)| known == name);
    let lacking: Vec<String> = facts
        .devices()
        .iter()
        .filter(|device| device.uverbs.as_deref().is_some_and(|name| !is_there(name)))
        .map(|device| device.name.clone())
        .collect();
    let closed: Vec<String> =
        there.iter().filter(|(_, may_open)| !may_open).map(|(name, _)| name.clone()).collect();
    if !lacking.is_empty() {
        let says = format!(
            "{} show in sysfs but have no file in /dev/infiniband: no process here can use them.",
            list(&lacking)
        );
        let fix = match facts.place.container {
            Some(_) => {
                "Docker: --device /dev/infiniband; Kubernetes: the RDMA resource of the device plugin"
            }
            None => "`modprobe ib_uverbs`",
        };
        return vec![Outcome::critical(says).seen(SEEN).fix(fix)];
    }
    if !closed.is_empty() {
        let says = format!("This user may not open {}: NCCL finds no RDMA device.", list(&closed));
        return vec![Outcome::critical(says).seen(SEEN).fix("the job's user needs read and write: a udev rule with MODE=\"0666\" (rdma-core ships one)")];
    }
    match there.len() {
        0 => Vec::new(),
        files => vec![
            Outcome::right(format!("All of {} may be opened.", count(files, "file"))).seen(SEEN),
        ],
    }
}
