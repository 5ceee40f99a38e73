//! Logs, captures and counters contradict each other.

use crate::analysis::finding::claim::network::{Contradiction, NetworkClaim};
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{CounterObservation, FrameObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::decode::counter::measure::Measure;
use crate::link::control::facts::StreamKind;
use crate::link::job::{CommunicatorId, Conflict, Transport};
use crate::link::log::process::Process;

/// Shortest time without growth of RDMA bytes.
const STANDSTILL_NS: u64 = 10_000_000_000;
/// NICs and contradictions that are named as evidence.
const NAMED: usize = 8;

/// Sources disagree.
pub const KIND: Kind = Kind {
    id: "sources_disagree",
    about: "One source says that the job uses RDMA and another that it does not, or they \
            contradict each other about a rank. Either an input belongs to another run, or the job \
            silently runs on a slow path.",
    threshold: "The log says NET/IB, but data was captured on NET/Socket, or the NICs' RDMA byte \
                counters did not move for at least 10 s (our choice). Info if logs and captures \
                contradict each other about a rank.",
    remedy: "Check that logs, captures and counters are from the same run and hosts; then check \
             `Using network`, NCCL_NET, and every NIC's counters (rx/tx_vport_rdma_unicast_bytes).",
    needs: &[Need::Logs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let on_ib: Vec<&Process> = facts
        .state
        .logs
        .processes
        .iter()
        .filter(|process| process.networks.chosen().is_some_and(|name| name.starts_with("IB")))
        .collect();
    let captured = on_ib.first().and_then(|first| socket_data(facts, first));
    let counted = on_ib.first().and_then(|first| standstill(facts, first));
    captured.into_iter().chain(counted).chain(conflicts(facts)).collect()
}

fn socket_data(facts: &Facts<'_>, process: &Process) -> Option<Finding> {
    let job = facts.job()?;
    let communicators = (0..).map(CommunicatorId).zip(&job.communicators);
    let (id, _) = communicators
        .filter(|(_, one)| matches!(one.transport, Transport::Socket | Transport::Mixed))
        .find(|(id, _)| facts.state.memberships.values().any(|known| known == id))?;
    let sockets =
        facts.state.streams.iter().filter(|stream| stream.kind == StreamKind::Socket).count();
    let claim = NetworkClaim::SocketDespiteIb {
        communicator: facts.identity_of(id),
        connections: sockets as u64,
    };
    Some(
        KIND.finding(Severity::Warning, claim)
            .caused_by("socket_data")
            .about(Subject { communicator: Some(id), ..Subject::default() })
            .because(Proof::log(LogObservation::IbTaken, network_line(process))),
    )
}

fn network_line(process: &Process) -> crate::model::witness::Witness {
    let chosen = process.networks.iter().find(|attempt| attempt.name.starts_with("IB"));
    chosen.map_or(process.first, |attempt| attempt.witness)
}

/// All NICs of the counters sent no RDMA.
fn standstill(facts: &Facts<'_>, process: &Process) -> Option<Finding> {
    let rises = facts.state.counters.nics.iter().filter_map(|nic| {
        Some((
            nic,
            nic.rise(Measure::RdmaSentBytes)?.amount,
            nic.rise(Measure::RdmaReceivedBytes)?.amount,
        ))
    });
    let rises: Vec<_> = rises.collect();
    let longest = rises.iter().map(|(nic, ..)| nic.span.last.nanos_since(nic.span.first)).max()?;
    let is_still = rises.iter().all(|(_, sent, received)| *sent == 0 && *received == 0);
    if !is_still || longest < STANDSTILL_NS {
        return None;
    }
    let claim = NetworkClaim::NoRdmaBytes { nics: rises.len() as u64, still_ns: longest };
    let names = rises.iter().take(NAMED).map(|(nic, ..)| nic.name()).collect();
    Some(
        KIND.finding(Severity::Warning, claim)
            .caused_by("no_rdma_bytes")
            .because(Proof::log(LogObservation::IbTaken, network_line(process)))
            .because(Proof::counter(CounterObservation::NoRdma(names), None)),
    )
}

fn conflicts(facts: &Facts<'_>) -> Option<Finding> {
    let conflicts = &facts.job()?.conflicts;
    let about = conflicts.iter().filter_map(|conflict| match conflict {
        Conflict::Log { communicator, rank, what, captured, logged } => {
            let contradiction = Contradiction {
                rank: *rank,
                what,
                captured: captured.clone(),
                logged: logged.clone(),
            };
            Some((*communicator, contradiction))
        }
        Conflict::Tag { .. } => None,
    });
    let about: Vec<_> = about.collect();
    let (communicator, first) = about.first()?;
    let subject =
        Subject { communicator: Some(*communicator), rank: Some(first.rank), ..Subject::default() };
    let claim = NetworkClaim::Contradictions { count: about.len() as u64, first: first.clone() };
    let mut finding = KIND.finding(Severity::Info, claim).caused_by("conflict").about(subject);
    for (_, contradiction) in about.into_iter().take(NAMED) {
        let contradiction = FrameObservation::Contradiction(contradiction);
        finding = finding.because(Proof::frames(contradiction, None));
    }
    Some(finding)
}
