//! Titles about what logs say.

use super::super::name;
use super::super::number::{count, counted, duration};
use crate::analysis::finding::claim::logged::{LoggedClaim, Standing};

/// Hosts or devices that a title names.
const NAMED: usize = 4;

/// Characters of a line that a title quotes.
const QUOTED: usize = 240;

pub(super) fn title(claim: &LoggedClaim) -> String {
    match claim {
        LoggedClaim::Cause { what, hosts, lines, settings, quote } => {
            let mut text = match hosts.as_slice() {
                [] => (*what).to_owned(),
                hosts => format!("{}: {what}", some(hosts, "hosts")),
            };
            if *lines > 1 {
                text.push_str(&format!(" ({})", counted(*lines, "line")));
            }
            for (variable, value) in settings {
                text.push_str(&format!(", {variable}={value}"));
            }
            format!("{text}: {}", shortened(&quote.replace('\t', " ")))
        }
        LoggedClaim::TimedOut {
            group,
            behind,
            ahead,
            ran_ms,
            absent,
            is_even,
            is_one_value,
            is_own_limit,
        } => {
            let of = match group.as_str() {
                "" => String::new(),
                group => format!(" of process group {group}"),
            };
            let after = ran_ms.map_or_else(String::new, |ms| {
                let own = if *is_own_limit { ", PyTorch's own limit" } else { "" };
                format!(" after {}{own}", duration(ms.saturating_mul(1_000_000)))
            });
            let value = if *is_one_value { "a barrier, or a single value; " } else { "" };
            match ahead {
                Some(ahead) => format!(
                    "{}{of} timed out behind the others: in {}, while {} {} at {}",
                    name::ranks(&behind.ranks),
                    collective(behind),
                    name::ranks(&ahead.ranks),
                    if ahead.ranks.len() == 1 { "is" } else { "are" },
                    collective(ahead)
                ),
                None => format!(
                    "{} timed out in {}{of}{after}: {value}{}",
                    name::ranks(&behind.ranks),
                    collective(behind),
                    together(absent, *is_even)
                ),
            }
        }
        LoggedClaim::WithoutGpuDirect { devices, hosts, reason } => {
            let of = match devices.as_slice() {
                [] => String::new(),
                devices => format!(" for {}", some(devices, "devices")),
            };
            let why = reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            format!(
                "GPUDirect RDMA is disabled{of} on {}, data is copied through host memory{why}",
                some(hosts, "hosts")
            )
        }
        LoggedClaim::NetworksDiffer { networks } => {
            format!("processes do not agree on the network: {}", by_hosts(networks, ", but "))
        }
        LoggedClaim::LinkLayersMixed { infiniband, roce, hosts } => format!(
            "InfiniBand and RoCE ports are mixed on {}: {} and {}",
            some(hosts, "hosts"),
            some(infiniband, "InfiniBand ports"),
            some(roce, "RoCE ports")
        ),
        LoggedClaim::ReleasesDiffer { releases } => {
            format!("ranks run different releases of NCCL: {}", by_hosts(releases, ", and "))
        }
        LoggedClaim::HostsDiffer { what, values } => {
            format!("hosts differ in {what}: {}", by_hosts(values, ", but "))
        }
        LoggedClaim::OddInterface { interfaces, hosts } => format!(
            "NCCL uses {} on {}: a container, bridge, tunnel or link-local interface, which other hosts \
             may not reach",
            some(interfaces, "interfaces"),
            some(hosts, "hosts")
        ),
        LoggedClaim::CallFailed { hosts, place, error } => format!(
            "a call of NCCL failed on {} at {place} ({error}), and no warning says why",
            some(hosts, "hosts")
        ),
        LoggedClaim::SlowInitialisation { communicator, rank, host, took_ns, longest } => {
            let longest = longest
                .as_ref()
                .map_or_else(String::new, |(part, ns)| format!(", {} of it {part}", duration(*ns)));
            format!(
                "initialisation of {} took {} for rank {rank} on {host}{longest}",
                name::known_communicator(*communicator),
                duration(*took_ns)
            )
        }
    }
}

/// `ALLREDUCE 412`.
fn collective(standing: &Standing) -> String {
    let call = standing.call.as_deref().unwrap_or("collective");
    match standing.number {
        Some(number) => format!("{call} {}", count(number)),
        None => call.to_owned(),
    }
}

/// `IB on a, b, but Socket on c`.
fn by_hosts(all: &[(String, Vec<String>)], joint: &str) -> String {
    let each = all.iter().map(|(what, hosts)| format!("{what} on {}", some(hosts, "hosts")));
    each.collect::<Vec<_>>().join(joint)
}

/// The names, or how many there are.
fn some(names: &[String], nouns: &str) -> String {
    match names.get(..NAMED).filter(|_| names.len() > NAMED + 1) {
        Some(first) => {
            format!("{} and {} more {nouns}", first.join(", "), names.len() - NAMED)
        }
        None => names.join(", "),
    }
}

/// The start of a line.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// What it means that all ranks that report wait in the same collective.
fn together(absent: &[u32], is_even: bool) -> String {
    match (absent, is_even) {
        (_, true) => {
            "RAS shows no rank behind, so all launched it, unless it was asked before; a GPU \
                      or the network does not end it"
                .to_owned()
        }
        ([], false) => {
            "all that report are in the same collective, so a rank that does not report \
                        never joined it, or a GPU hangs in it"
                .to_owned()
        }
        (ranks, false) => format!(
            "all that report are in the same collective; {} {} nothing: never joined it, or a GPU \
             hangs in it",
            name::ranks(ranks),
            if ranks.len() == 1 { "reports" } else { "report" }
        ),
    }
}
