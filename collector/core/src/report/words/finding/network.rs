//! Titles about the network that carries a job's data.

use super::super::evidence::{contradiction, network_part, plugin_failure};
use super::super::name;
use super::super::number::{bytes, count, counted, duration};
use super::among::among;
use crate::analysis::finding::claim::network::{NetworkClaim, Reach, SocketReason};
use crate::analysis::finding::naming::Among;

pub(super) fn title(claim: &NetworkClaim) -> String {
    match claim {
        NetworkClaim::SocketChosen { processes, hosts, reason, reach, ipoib } => {
            let on = match processes {
                Among::Only((host, pid)) => format!("on {host} (pid {pid})"),
                Among::Several(several) => {
                    let hosts = match hosts.as_slice() {
                        [host] => host.clone(),
                        hosts => counted(hosts.len() as u64, "host"),
                    };
                    format!("in {} processes on {hosts}", count(*several))
                }
            };
            let over = ipoib
                .as_ref()
                .map_or_else(String::new, |interface| format!(" over {interface} (IPoIB)"));
            let reason = socket_reason(reason);
            match reach {
                Reach::Across | Reach::Likely => format!(
                    "NCCL uses TCP (NET/Socket) between nodes, not RDMA, {on}{over}: {reason}"
                ),
                Reach::Within | Reach::Unknown => format!(
                    "NCCL chose NET/Socket{over} {on}: {reason}; this matters only to a job of \
                     several hosts, which the log does not show"
                ),
            }
        }
        NetworkClaim::SocketSeen { communicator, ranks, bytes: sent } => format!(
            "NCCL uses TCP (NET/Socket) between nodes, not RDMA: {} of {}, {}",
            name::ranks(ranks),
            name::known_communicator(*communicator),
            bytes(*sent)
        ),
        NetworkClaim::Warned { warnings, hosts, first } => format!(
            "NCCL logged {} {}: {first}",
            counted(*warnings, "warning"),
            processes_on(hosts)
        ),
        NetworkClaim::EfaFailed { release, hosts, reason } => format!(
            "EFA plugin aws-ofi-nccl {release} failed {}: {}",
            processes_on(hosts),
            plugin_failure(reason.as_deref())
        ),
        NetworkClaim::OnEfa { processes } => format!(
            "data goes over EFA in {}: no RoCE to capture, only logs and counters",
            counted(*processes, "process")
        ),
        NetworkClaim::Unexpected { odd, hosts, expected } => format!(
            "unexpected {} {} on {}, expected: {}",
            network_part(odd.what),
            odd.found,
            among(hosts, String::clone, "ranks"),
            expected.join(" or ")
        ),
        NetworkClaim::SocketDespiteIb { communicator, connections } => format!(
            "sources disagree: the log says NET/IB, but {} sends its data over {}",
            name::known_communicator(*communicator),
            counted(*connections, "NET/Socket connection")
        ),
        NetworkClaim::NoRdmaBytes { nics, still_ns } => format!(
            "sources disagree: the log says NET/IB, but {} moved no RDMA bytes for {}",
            counted(*nics, "NIC"),
            duration(*still_ns)
        ),
        NetworkClaim::Contradictions { count: times, first } => format!(
            "sources disagree: {} between logs and captures; first {}",
            counted(*times, "contradiction"),
            contradiction(first)
        ),
        NetworkClaim::RdmaNotVisible { communicator, queue_pairs, ranks, taps } => {
            let taps = match taps {
                0 => "no interface is tapped".to_owned(),
                taps => format!("none of their packets at {}", counted(*taps, "tap")),
            };
            format!(
                "RDMA is not visible: {} of {} in {}, but {taps}",
                counted(*queue_pairs, "queue pair"),
                counted(*ranks, "rank"),
                name::known_communicator(*communicator)
            )
        }
    }
}

/// `on gpu-node-02`, or `in 4 processes`.
fn processes_on(hosts: &Among<String>) -> String {
    match hosts {
        Among::Only(host) => format!("on {host}"),
        Among::Several(several) => format!("in {} processes", count(*several)),
    }
}

fn socket_reason(reason: &SocketReason) -> String {
    match reason {
        SocketReason::Disabled => "NCCL_IB_DISABLE=1 or NCCL_NET=Socket is set".to_owned(),
        SocketReason::Unknown => "no reason logged".to_owned(),
        SocketReason::Failed(failures) => {
            let failures = failures.iter().map(|failure| match &failure.reason {
                Some(reason) => format!("{}: {reason}", failure.name),
                None => format!("{} failed", failure.name),
            });
            failures.collect::<Vec<_>>().join("; ")
        }
    }
}
