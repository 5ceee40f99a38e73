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
    let given: Vec<&(String, bool)> =
        there.iter().filter(|(name, _)| name.starts_with("uverbs")).collect();
    let is_there = |name: &str| given.iter().any(|(known, _)| known == name);
    let of_device = || facts.devices().iter().filter_map(|device| device.uverbs.as_deref());
    let lacking = of_device().filter(|name| !is_there(name)).count();
    let closed: Vec<String> =
        given.iter().filter(|(_, may_open)| !may_open).map(|(name, _)| name.clone()).collect();
    let mut outcomes = Vec::new();
    if !facts.withheld.is_empty() {
        let says = format!(
            "This container was given {} of the host's {} RDMA devices.",
            given.len(),
            given.len() + facts.withheld.len()
        );
        outcomes.push(Outcome::note(says).seen(SEEN));
    }
    if lacking > 0 && lacking == of_device().count() {
        let says = "RDMA devices show in sysfs, but /dev/infiniband has no file of any: no process here can use them.";
        let fix = match facts.place.container {
            Some(_) => {
                "Docker: --device /dev/infiniband; Kubernetes: the RDMA resource of the device plugin"
            }
            None => "`modprobe ib_uverbs`",
        };
        outcomes.push(Outcome::critical(says).seen(SEEN).fix(fix));
    } else if lacking > 0 {
        let names: Vec<String> =
            of_device().filter(|name| !is_there(name)).map(str::to_owned).collect();
        let says =
            format!("/dev/infiniband has no {}: no process here can use these NICs.", list(&names));
        outcomes
            .push(Outcome::warning(says).seen(SEEN).fix("`udevadm trigger`, `modprobe ib_uverbs`"));
    } else if !closed.is_empty() {
        let fix = "the job's user needs read and write: a udev rule with MODE=\"0666\" (rdma-core ships one)";
        let says = format!("This user may not open {}.", list(&closed));
        outcomes.push(
            match closed.len() == given.len() {
                true => Outcome::critical(format!("{says} NCCL finds no RDMA device.")),
                false => Outcome::warning(format!("{says} NCCL leaves these NICs out.")),
            }
            .seen(SEEN)
            .fix(fix),
        );
    } else if !given.is_empty() {
        outcomes.push(
            Outcome::right(format!("{} may be opened.", count(given.len(), "device"))).seen(SEEN),
        );
    }
    outcomes
}
