//! RDMA moves data, but no packet of it is captured.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::analysis::finding::claim::network::NetworkClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::CallObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::{CommunicatorId, Rank, RankQueuePair};
use crate::model::qpn::Qpn;
use crate::model::queue_pair::QueuePairState;

/// Shortest time, in nanoseconds, from the first call that moves data to the last: an idle queue
/// pair sends no packets.
const ASKED_NS: u64 = 1_000_000_000;

/// Ranks named as evidence.
const RANKS_SHOWN: usize = 8;

/// RDMA traffic that no tap captures.
pub const KIND: Kind = Kind {
    id: "rdma_not_visible",
    about: "Processes on this host are ranks, have queue pairs ready to send, and call NCCL, but \
            no packet of these queue pairs is captured. Either an RDMA NIC bypasses the kernel, or \
            its port is not tapped. Ranks, processes and queue pairs are known from calls and the \
            kernel's list. CE marks, CNPs, losses, messages and late ranks are not visible here.",
    threshold: "Queue pairs are ready to send, no RoCEv2 flow to one of them or to its other end \
                was seen, and at least 1 s (our choice) lies between the rank's first and last \
                collective or transfer call on the communicator.",
    remedy: "Late ranks: load NCCL's profiler plugin into the job, one environment variable \
             (docs/HARDWARE-NICS.md); the agent reads it. Software RDMA and mirror ports: set `sources.packets = true`, and list the interface \
             in `taps.interfaces`. The counters of an RDMA NIC still show congestion, pause and \
             loss (`sources.counters`). To see its packets, use a mirror port or in-band capture \
             of the switch (`railscope watch -i mirror0`). The NIC's own sniffer also works, at a \
             cost in throughput: `tcpdump -i mlx5_0`, with a libpcap that supports RDMA, and \
             `railscope analyze`.",
    needs: &[Need::Processes],
    detect,
};

/// Sources and destinations of flows, by the queue pair that they go to.
type Seen = BTreeMap<Qpn, Vec<(IpAddr, IpAddr)>>;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(job) = facts.job() else { return Vec::new() };
    let mut ranks = job.communicators.iter().flat_map(|one| &one.ranks);
    if ranks.all(|rank| rank.queue_pairs.is_empty()) {
        return Vec::new();
    }
    let mut seen = Seen::new();
    for flow in facts.table() {
        let ends = (flow.key.source.to_ip(), flow.key.destination.to_ip());
        seen.entry(flow.key.dest_qpn).or_default().push(ends);
    }
    let communicators = (0..).map(CommunicatorId).zip(&job.communicators);
    let found = communicators.filter_map(|(id, one)| {
        let unseen: Vec<_> = one
            .ranks
            .iter()
            .filter_map(|rank| Some((rank, unseen(rank, &seen)?, asked_ns(rank)?)))
            .collect();
        (!unseen.is_empty()).then(|| finding(facts, id, &unseen))
    });
    found.collect()
}

/// Number of queue pairs that are ready to send, if no packet of any was captured.
fn unseen(rank: &Rank, seen: &Seen) -> Option<u64> {
    let is_ready = |pair: &&RankQueuePair| pair.state == Some(QueuePairState::ReadyToSend);
    let ready: Vec<&RankQueuePair> = rank.queue_pairs.iter().filter(is_ready).collect();
    let is_unseen = !ready.is_empty() && !ready.iter().any(|pair| is_seen(pair, seen));
    is_unseen.then_some(ready.len() as u64)
}

/// Queue pair numbers repeat on every host, so the other end's address is compared too, if known.
fn is_seen(pair: &RankQueuePair, seen: &Seen) -> bool {
    let flows = |number: Qpn| seen.get(&number).into_iter().flatten();
    let is_far = |address: &IpAddr| pair.remote_address.is_none_or(|far| far == *address);
    flows(pair.number).any(|(source, _)| is_far(source))
        || pair.remote.is_some_and(|far| flows(far).any(|(_, destination)| is_far(destination)))
}

fn asked_ns(rank: &Rank) -> Option<u64> {
    let asked = rank.communicated?;
    let ns = asked.last.nanos_since(asked.first);
    (ns >= ASKED_NS).then_some(ns)
}

fn finding(facts: &Facts<'_>, id: CommunicatorId, unseen: &[(&Rank, u64, u64)]) -> Finding {
    let claim = NetworkClaim::RdmaNotVisible {
        communicator: facts.identity_of(id),
        queue_pairs: unseen.iter().map(|(_, pairs, _)| pairs).sum(),
        ranks: unseen.len() as u64,
        taps: facts.state.tracker.taps().len() as u64,
    };
    let mut finding = KIND
        .finding(Severity::Info, claim)
        .about(Subject { communicator: Some(id), ..Subject::default() });
    for (rank, queue_pairs, called_ns) in unseen.iter().take(RANKS_SHOWN).copied() {
        let Rank { rank, pid, .. } = *rank;
        let ready = CallObservation::Ready { rank, pid, queue_pairs, called_ns };
        finding = finding.because(Proof::calls(ready));
    }
    finding
}
