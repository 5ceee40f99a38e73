//! Titles about the network that carries a job's data.

use super::super::evidence::{contradiction, network_part, plugin_failure};
use super::super::name;
use super::super::number::{bytes, count, counted, duration};
use super::among;
use crate::analysis::finding::claim::network::{NetworkClaim, SocketReason};
use crate::analysis::finding::naming::Among;

pub(super) fn title(claim: &NetworkClaim) -> String {
    match claim {
        NetworkClaim::SocketChosen { processes, reason } => {
            let on = match processes {
                Among::Only((host, pid)) => format!("on {host} (pid {pid})"),
                Among::Several(several) => format!("in {} processes", count(*several)),
            };
            let reason = socket_reason(reason);
            format!("data between nodes goes over TCP (NET/Socket), not RDMA, {on}: {reason}")
        }
        NetworkClaim::SocketSeen { communicator, ranks, bytes: sent } => format!(
            "data between nodes goes over TCP (NET/Socket), not RDMA: {} of {}, {}",
            name::ranks(ranks),
            name::known_communicator(*communicator),
            bytes(*sent)
        ),
        NetworkClaim::Warned { warnings, hosts, first } => format!(
            "NCCL: {} on {}: {first}",
            counted(*warnings, "warning"),
            among(hosts, String::clone, "processes")
        ),
        NetworkClaim::EfaFailed { release, hosts, reason } => format!(
            "EFA plugin aws-ofi-nccl {release} failed on {}: {}",
            among(hosts, String::clone, "processes"),
            plugin_failure(reason.as_deref())
        ),
        NetworkClaim::OnEfa { processes } => format!(
            "data goes over EFA in {}: counters and logs only, there is no RoCE to see",
            counted(*processes, "process")
        ),
        NetworkClaim::Unexpected { odd, hosts, expected } => format!(
            "unexpected {} {} on {}; expected is {}",
            network_part(odd.what),
            odd.found,
            among(hosts, String::clone, "ranks"),
            expected.join(", ")
        ),
        NetworkClaim::SocketDespiteIb { communicator, connections } => format!(
            "sources disagree: the log says NET/IB, but {} carries its data on {}",
            name::known_communicator(*communicator),
            counted(*connections, "NET/Socket connection")
        ),
        NetworkClaim::NoRdmaBytes { nics, still_ns } => format!(
            "sources disagree: the log says NET/IB, but RDMA bytes of {} stood still for {}",
            counted(*nics, "NIC"),
            duration(*still_ns)
        ),
        NetworkClaim::Contradictions { count: times, first } => format!(
            "logs and captures contradict each other {} times, as about {}",
            count(*times),
            contradiction(first)
        ),
        NetworkClaim::RdmaNotVisible { communicator, queue_pairs, ranks, taps } => {
            let taps = match taps {
                0 => "no interface is tapped".to_owned(),
                taps => format!("no packet of them at {}", counted(*taps, "tap")),
            };
            format!(
                "RDMA is not visible: {} of {} in {}, and {taps}",
                counted(*queue_pairs, "queue pair"),
                counted(*ranks, "rank"),
                name::known_communicator(*communicator)
            )
        }
    }
}

fn socket_reason(reason: &SocketReason) -> String {
    match reason {
        SocketReason::Disabled => "NCCL_IB_DISABLE=1 or NCCL_NET=Socket is set".to_owned(),
        SocketReason::Unknown => "the log does not say why".to_owned(),
        SocketReason::Failed(failures) => {
            let failures = failures.iter().map(|failure| match &failure.reason {
                Some(reason) => format!("{}: {reason}", failure.name),
                None => format!("{} failed", failure.name),
            });
            failures.collect::<Vec<_>>().join("; ")
        }
    }
}
