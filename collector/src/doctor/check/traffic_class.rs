//! Does the job's traffic class lead to the priority that is protected from loss?

use super::{Check, list, priorities};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Traffic classes.
pub(super) const CHECK: Check = Check {
    name: "traffic_class",
    asks: "Does the job's traffic class lead to the protected priority?",
    judge,
};

fn judge(facts: &Facts) -> Vec<Outcome> {
    let mut outcomes = by_priority(facts);
    outcomes.extend(forced(facts));
    outcomes
}

/// DSCP of a traffic class (RFC 2474): its upper six bits.
const fn dscp(class: u8) -> u8 {
    class >> 2
}

fn by_priority(facts: &Facts) -> Vec<Outcome> {
    let set = super::variables::effective(facts, "NCCL_IB_TC");
    let class = set.and_then(|set| u8::try_from(set.number()).ok());
    let mut unprotected: Vec<(String, u8)> = Vec::new();
    let mut protected = 0;
    let mut has_pfc = false;
    for (name, dcb) in priorities::known(facts) {
        let Some(pfc) = dcb.pfc.filter(|pfc| pfc.contains(&true)) else { continue };
        has_pfc = true;
        // Without a table mlx5 trusts PCPs: the class decides nothing.
        if dcb.dscp.is_empty() {
            continue;
        }
        let wanted = dscp(class.unwrap_or(0));
        // A DSCP that is not listed: mlx5 lists all 64, others map it to its upper three bits.
        let priority = dcb
            .dscp
            .iter()
            .find(|(one, _)| *one == wanted)
            .map_or(wanted >> 3, |(_, priority)| *priority);
        match pfc.get(usize::from(priority)) {
            Some(true) => protected += 1,
            _ => unprotected.push((name.to_owned(), priority)),
        }
    }
    if !has_pfc {
        return Vec::new();
    }
    let seen =
        format!("{} and DCB netlink", set.map_or("NCCL_IB_TC is not set", |set| &set.source));
    let forced = facts
        .devices()
        .iter()
        .flat_map(|device| &device.ports)
        .any(|port| global_class(port).is_some());
    match (class, unprotected.first()) {
        (_, None) if protected > 0 => {
            vec![
                Outcome::right(format!(
                    "Traffic class {} (DSCP {}) leads to the priority with flow control.",
                    class.unwrap_or(0),
                    dscp(class.unwrap_or(0))
                ))
                .seen(seen),
            ]
        }
        (_, None) => Vec::new(),
        // The driver sets the class, whatever the job says.
        (None, Some(_)) if forced => Vec::new(),
        // A shell on a node has no job's settings.
        (None, Some((_, priority))) if !facts.is_of_job => {
            let says = format!(
                "NCCL_IB_TC is not set here. Without it a job's packets have DSCP 0 and priority {priority}, which has no flow control."
            );
            vec![Outcome::note(says).seen(seen).fix("NCCL_IB_TC in the job's settings: 106 is DSCP 26 with ECN; `--pid` or `--env` checks a job's")]
        }
        (_, Some((_, priority))) => {
            let names: Vec<String> = unprotected.iter().map(|(name, _)| name.clone()).collect();
            let class = class.unwrap_or(0);
            let says = format!(
                "Traffic class {class} (DSCP {}) leads to priority {priority} on {}, which has no flow control: the job's packets are dropped \
                 where others are paused.",
                dscp(class),
                list(&names)
            );
            vec![Outcome::warning(says).seen(seen).fix("NCCL_IB_TC = 4 x a DSCP that `mlnx_qos -i DEV` maps to the priority with PFC: 106 is DSCP 26 with ECN")]
        }
    }
}

/// `Global tclass=236` of MLNX_OFED; 0 forces nothing.
fn global_class(port: &crate::doctor::fact::rdma::Port) -> Option<u8> {
    let text = port.traffic_class.as_deref()?;
    let value = text.rsplit(['=', ' ']).next()?.trim();
    value.parse().ok().filter(|class| *class > 0)
}

/// A class that the driver forces on queue pairs reaches only those that the kernel makes ready: GPU-driven ones
/// (GIN's GDAKI) are made through DevX, and take NCCL's variables.
fn forced(facts: &Facts) -> Vec<Outcome> {
    let number = |name: &str| {
        super::variables::effective(facts, name).and_then(|set| u8::try_from(set.number()).ok())
    };
    let own = number("NCCL_GIN_IB_TC").or_else(|| number("NCCL_IB_TC"));
    let ports = facts
        .devices()
        .iter()
        .flat_map(|device| device.ports.iter().map(move |port| (device, port)));
    let differing = ports.filter_map(|(device, port)| Some((device, global_class(port)?)));
    let mut differing = differing.filter(|(_, class)| own != Some(*class));
    let Some((device, class)) = differing.next() else { return Vec::new() };
    let says = format!(
        "The driver puts traffic class {class} (DSCP {}) on queue pairs of {}, but not on GPU-driven ones (NCCL's GIN with GDAKI): those use \
         class {}.",
        dscp(class),
        device.name,
        own.unwrap_or(0)
    );
    let fix = format!(
        "NCCL_IB_TC={class}, or NCCL_GIN_IB_TC={class} for GIN alone; without GIN nothing is wrong"
    );
    vec![Outcome::note(says).seen("/sys/class/infiniband/*/tc/*/traffic_class").fix(fix)]
}
