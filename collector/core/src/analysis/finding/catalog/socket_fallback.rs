//! Data between nodes goes over TCP.

mod reach;

use std::collections::BTreeMap;

use crate::analysis::finding::claim::network::{NetworkClaim, NetworkFailure, Reach, SocketReason};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::naming::{Among, distinct};
use crate::analysis::finding::observation::{FrameObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, Transport};
use crate::link::log::network::{NetworkAttempt, Outcome};
use crate::link::log::process::Process;
use crate::model::time::Span;

/// Socket fallback.
pub const KIND: Kind = Kind {
    id: "socket_fallback",
    about: "NCCL sends the data between nodes over TCP (NET/Socket) instead of RDMA. The job runs, \
            but many times slower than it could.",
    threshold: "Critical for any communicator of several hosts whose log says `Using network Socket` or \
                `via NET/Socket`, or whose data was captured on NET/Socket connections. Where the log \
                does not show whether the job spans hosts: a warning with connections over NET/Socket, \
                over IP over InfiniBand and with more than 8 ranks, else information. Nothing on a job of one host. The title quotes \
                why other networks failed, if the log says so.",
    remedy: "Make RDMA visible to the process: `ibv_devinfo` and /dev/infiniband inside the \
             container, the device plugin's resource request, unlimited memlock, NCCL_IB_DISABLE \
             unset, a correct NCCL_IB_HCA. On EFA: `fi_info -p efa`, an instance type with EFA, a \
             self-referencing security group.",
    needs: &[Need::Logs, Need::ControlPlane],
    detect,
};

/// What to do on EC2, where most instance types have no RDMA.
const ON_EC2: &str = "EC2 has RDMA only on instance types with EFA (p4d, p5, trn1 and others): there \
                      attach EFA interfaces, install the EFA driver, libfabric and aws-ofi-nccl (`fi_info \
                      -p efa`), and use a self-referencing security group. On other types TCP is all \
                      there is: a cluster placement group, ENA Express, NCCL_SOCKET_NTHREADS=4 and \
                      NCCL_NSOCKS_PERTHREAD=4.";

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = by_logs(facts);
    if found.is_empty() {
        found = by_traffic(facts);
    }
    found
}

/// The log's processes on NET/Socket, by the reason and by whether they send to other hosts.
fn by_logs(facts: &Facts<'_>) -> Vec<Finding> {
    type Key = (std::cmp::Reverse<Reach>, SocketReason);
    let mut by_reason: BTreeMap<Key, Vec<(usize, &Process)>> = BTreeMap::new();
    for (at, process) in facts.state.logs.processes.iter().enumerate() {
        if process.networks.chosen() != Some("Socket") {
            continue;
        }
        let reach = reach::of(facts, at, process);
        if reach != Reach::Within {
            let key = (std::cmp::Reverse(reach), reason(process));
            by_reason.entry(key).or_default().push((at, process));
        }
    }
    let found = by_reason.into_iter().filter_map(|((reach, reason), processes)| {
        let (at, first) = *processes.first()?;
        let name = |(_, process): &(usize, &Process)| (process.host.clone(), process.pid);
        let processes_named = Among::all(&processes, name);
        let ipoib = processes.iter().find_map(|(_, process)| reach::ipoib(process));
        let severity = match (reach.0, &ipoib) {
            (Reach::Across, _) => Severity::Critical,
            (Reach::Likely, _) | (_, Some(_)) => Severity::Warning,
            _ if processes.iter().any(|(_, process)| reach::is_large(process)) => Severity::Warning,
            _ => Severity::Info,
        };
        let hosts = distinct(processes.iter().map(|(_, process)| process.host.clone()));
        let claim = NetworkClaim::SocketChosen {
            processes: processes_named,
            hosts,
            reason,
            reach: reach.0,
            ipoib,
        };
        let communicator = facts.state.memberships.get(&(at, 0)).copied();
        let rank = first.memberships.first().map(|member| member.rank);
        let rank = rank.filter(|_| processes.len() == 1);
        let mut finding = KIND
            .finding(severity, claim)
            .caused_by(cause(first))
            .about(Subject { communicator, rank, ..Subject::default() })
            .proven();
        if reach::is_on_ec2(first) {
            finding.remedy = ON_EC2;
        }
        for attempt in first.networks.iter().filter(|attempt| is_refused(attempt)) {
            let refused = LogObservation::Refused(failure(attempt), attempt.outcome);
            finding = finding.because(Proof::log(refused, attempt.witness));
        }
        let chosen = first.networks.iter().find(|attempt| attempt.name == "Socket");
        if let Some(chosen) = chosen {
            finding = finding.because(Proof::log(LogObservation::SocketTaken, chosen.witness));
        }
        Some(finding)
    });
    found.collect()
}

fn is_refused(attempt: &NetworkAttempt) -> bool {
    matches!(attempt.outcome, Outcome::Failed | Outcome::Missing)
}

fn is_disabled(process: &Process) -> bool {
    let is =
        |name: &str, value: &str| process.environment.get(name).is_some_and(|set| set == value);
    is("NCCL_IB_DISABLE", "1") || is("NCCL_NET", "Socket")
}

/// The reason as one word.
fn cause(process: &Process) -> &'static str {
    let has_failed = |name: &str| {
        process.networks.iter().any(|attempt| attempt.name == name && is_refused(attempt))
    };
    if is_disabled(process) {
        "disabled"
    } else if process.ofi.release.is_some() && process.networks.iter().any(is_refused_plugin) {
        "plugin_failed"
    } else if has_failed("IB") {
        "no_device"
    } else {
        "unknown"
    }
}

fn is_refused_plugin(attempt: &NetworkAttempt) -> bool {
    is_refused(attempt) && attempt.name != "IB" && attempt.name != "Socket"
}

/// Why NCCL chose NET/Socket.
fn reason(process: &Process) -> SocketReason {
    if is_disabled(process) {
        return SocketReason::Disabled;
    }
    // A missing plugin alone does not explain the fallback.
    let failed = process.networks.iter().filter(|attempt| attempt.outcome == Outcome::Failed);
    let mut failures: Vec<NetworkFailure> = failed.map(failure).collect();
    // A list that matches no device looks like no device.
    let ib = failures.iter_mut().find(|failure| failure.name == "IB");
    if let (Some(failure), Some(list)) = (ib, process.environment.get("NCCL_IB_HCA")) {
        let reason = failure.reason.clone().unwrap_or_default();
        failure.reason = Some([&reason, " (NCCL_IB_HCA=", list, ")"].concat());
    }
    if failures.is_empty() { SocketReason::Unknown } else { SocketReason::Failed(failures) }
}

fn failure(attempt: &NetworkAttempt) -> NetworkFailure {
    NetworkFailure { name: attempt.name.clone(), reason: attempt.reason.clone() }
}

/// Communicators whose data was captured on TCP.
fn by_traffic(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(job) = facts.job() else { return Vec::new() };
    let on_socket = (0..)
        .map(CommunicatorId)
        .zip(&job.communicators)
        .filter(|(_, one)| matches!(one.transport, Transport::Socket | Transport::Mixed));
    let found = on_socket.filter_map(|(id, communicator)| {
        let sockets = facts.state.streams.iter().filter(|stream| {
            stream.kind == crate::link::control::facts::StreamKind::Socket
                && job.listeners.get(&stream.connection.server) == Some(&id)
        });
        // Transports that only logs name are judged above.
        sockets.clone().next()?;
        let sent: u64 = sockets
            .clone()
            .filter_map(|stream| stream.totals.map(|totals| totals.client.bytes))
            .sum();
        let spans = sockets.clone().filter_map(|stream| Some(stream.totals?.span));
        let span = spans.reduce(|one, other| Span {
            first: one.first.min(other.first),
            last: one.last.max(other.last),
        });
        let claim = NetworkClaim::SocketSeen {
            communicator: facts.identity_of(id),
            ranks: communicator.ranks.iter().map(|rank| rank.rank).collect(),
            bytes: sent,
        };
        let connections = FrameObservation::SocketConnections(sockets.count() as u64);
        let witness = communicator.evidence.iter().find_map(|evidence| evidence.witness);
        let finding = KIND
            .finding(Severity::Critical, claim)
            .caused_by("unknown")
            .about(Subject { communicator: Some(id), ..Subject::default() })
            .over(span)
            .proven();
        Some(finding.because(Proof::frames(connections, witness)))
    });
    found.collect()
}
