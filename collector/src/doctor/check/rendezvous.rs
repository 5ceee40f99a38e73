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
    let met = ["MASTER_ADDR", "NCCL_COMM_ID"].map(|name| variables::effective(facts, name));
    for set in met.into_iter().flatten().filter(|set| !set.value.trim().is_empty()) {
        if !is_loopback(host_of(set.value.trim()), facts) {
            continue;
        }
        let says = format!("{}={} leads to each node itself (loopback)", set.name, set.value);
        let outcome = match spans_nodes(facts) {
            Some(true) => Outcome::critical(format!(
                "{says}, and the job has several nodes: each waits for its own rank 0."
            )),
            Some(false) => continue,
            None => Outcome::note(format!("{says}: right for a job of one node only.")),
        };
        let fix = format!("{}: the address of rank 0's node", set.name);
        outcomes.push(outcome.seen(&set.source).fix(fix));
    }
    outcomes.extend(own_name_is_loopback(facts));
    let [master, _] = met;
    let address = master.and_then(|set| Some((set, set.value.trim().parse::<IpAddr>().ok()?)));
    if let Some((set, address)) = address.filter(|_| outcomes.is_empty()) {
        let says = match spans_nodes(facts) {
            Some(false) => format!("Ranks meet at {address}; the job has one node."),
            _ => format!("Ranks meet at {address}, which is no loopback."),
        };
        outcomes.push(Outcome::right(says).seen(&set.source));
    }
    outcomes
}

/// Debian gives a host's own name 127.0.1.1. Gloo, which PyTorch uses beside NCCL, listens where its own name leads to.
fn own_name_is_loopback(facts: &Facts) -> Option<Outcome> {
    let host = facts.place.job_host.as_ref()?;
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

/// A name is looked up in `/etc/hosts` alone: where else it leads is the cluster's matter. That a node's own name is a
/// loopback there says nothing of other nodes.
fn is_loopback(host: &str, facts: &Facts) -> bool {
    let is_local = |address: IpAddr| {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified()
    };
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_local(address);
    }
    let host = host.to_ascii_lowercase();
    if host == "localhost" || host.starts_with("localhost.") {
        return true;
    }
    let is_own = facts.place.job_host.as_ref().is_none_or(|own| *own == host);
    let known = facts.place.names.iter().find(|(_, names)| names.contains(&host));
    !is_own && known.is_some_and(|(address, _)| is_local(*address))
}

/// Whether the job has more than one node; `None` if no variable says.
fn spans_nodes(facts: &Facts) -> Option<bool> {
    let number = |name: &str| variables::effective(facts, name)?.value.parse::<u64>().ok();
    let nodes = number("SLURM_NNODES").or_else(|| number("SLURM_JOB_NUM_NODES"));
    let ranks = number("WORLD_SIZE").zip(number("LOCAL_WORLD_SIZE"));
    let of_ranks = ranks.map(|(all, local)| all > local);
    of_ranks.or_else(|| nodes.map(|nodes| nodes > 1))
}
