//! Do ranks of other nodes reach the address at which they meet?

use std::net::IpAddr;

use super::{Check, variables};
use crate::doctor::fact::Facts;
use crate::doctor::outcome::Outcome;

/// Addresses of rendezvous.
pub(super) const CHECK: Check = Check {
    name: "rendezvous",
    asks: "Do ranks of other nodes reach the address at which they meet?",
    judge,
};

fn judge(facts: &Facts) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for name in ["MASTER_ADDR", "NCCL_COMM_ID"] {
        let Some(set) = variables::effective(facts, name) else { continue };
        if !is_loopback(host_of(&set.value)) {
            continue;
        }
        let says = format!("{name}={} leads to each node itself (loopback)", set.value);
        let outcome = match spans_nodes(facts) {
            Some(true) => Outcome::critical(format!(
                "{says}, and the job has several nodes: each waits for its own rank 0."
            )),
            Some(false) => continue,
            None => Outcome::note(format!("{says}: right for a job of one node only.")),
        };
        let fix = format!("{name}: the address of rank 0's node");
        outcomes.push(outcome.seen(&set.source).fix(fix));
    }
    if let Some(own) = own_name_is_loopback(facts) {
        outcomes.push(own);
    }
    let met = variables::effective(facts, "MASTER_ADDR");
    if let Some(set) = met.filter(|_| outcomes.is_empty()) {
        let says = format!("Ranks meet at {}, which is no loopback.", set.value);
        outcomes.push(Outcome::right(says).seen(format!("{}, /etc/hosts", set.source)));
    }
    outcomes
}

/// Debian gives a host's own name 127.0.1.1. Gloo, which PyTorch uses beside NCCL, listens where its own name leads to.
fn own_name_is_loopback(facts: &Facts) -> Option<Outcome> {
    let host = &facts.place.host;
    let (address, _) =
        facts.place.names.iter().find(|(_, names)| names.iter().any(|name| name == host))?;
    let is_set = variables::effective(facts, "GLOO_SOCKET_IFNAME").is_some();
    // Only a job's environment shows that several nodes will meet.
    let matters = address.is_loopback() && !is_set && spans_nodes(facts) == Some(true);
    let says = format!(
        "The node's own name, {host}, is {address} in /etc/hosts: Gloo listens there, and other nodes cannot connect."
    );
    matters.then(|| {
        Outcome::warning(says)
            .seen("/etc/hosts")
            .fix("GLOO_SOCKET_IFNAME=INTERFACE, or the node's address in /etc/hosts")
    })
}

/// The host of `10.0.0.1:29500`, `[fd00::1]:29500`, `node1`.
fn host_of(address: &str) -> &str {
    if let Some((host, _)) = address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return host;
    }
    match address.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        _ => address,
    }
}

/// A name is looked up nowhere: what it leads to is the cluster's matter.
fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.starts_with("localhost."),
    }
}

/// Whether the job has more than one node; `None` if no variable tells.
fn spans_nodes(facts: &Facts) -> Option<bool> {
    let number = |name: &str| variables::effective(facts, name)?.value.parse::<u64>().ok();
    let nodes = number("SLURM_NNODES").or_else(|| number("SLURM_JOB_NUM_NODES"));
    let ranks = number("WORLD_SIZE").zip(number("LOCAL_WORLD_SIZE"));
    let of_ranks = ranks.map(|(all, local)| all > local);
    of_ranks.or_else(|| nodes.map(|nodes| nodes > 1))
}
