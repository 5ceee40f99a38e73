//! A ring changes hosts more often than necessary.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::pace::PaceClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::FrameObservation;
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::job::{Communicator, CommunicatorId};

/// Ring order.
pub const KIND: Kind = Kind {
    id: "ring_order",
    about: "A ring goes from host to host more often than there are hosts: data that could stay on \
            NVLink crosses the network, and the NICs carry it several times.",
    threshold: "A ring crosses between hosts more often than the communicator has hosts. Once per \
                host is the minimum.",
    remedy: "Start ranks host by host (global rank = node rank x GPUs per node + local rank; \
             mpirun --map-by ppr:8:node), and check the topology that NCCL detects \
             (NCCL_TOPO_DUMP_FILE, NCCL_HOSTID, containers that hide PCIe).",
    needs: &[Need::Ranks],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let communicators = facts.job().into_iter().flat_map(|job| &job.communicators);
    let found = (0..).map(CommunicatorId).zip(communicators);
    found.filter_map(|(id, communicator)| finding(facts, id, communicator)).collect()
}

fn finding(facts: &Facts<'_>, id: CommunicatorId, communicator: &Communicator) -> Option<Finding> {
    let hosts = |ring: &[u32]| -> Option<Vec<String>> {
        ring.iter().map(|rank| host(communicator, *rank)).collect()
    };
    let rings = communicator.channels.iter().filter_map(|channel| {
        let hosts = hosts(&channel.ring)?;
        let next = hosts.iter().cycle().skip(1);
        let crossings = hosts.iter().zip(next).filter(|(one, next)| one != next).count();
        let needed = hosts.iter().collect::<BTreeSet<_>>().len();
        (needed > 1 && crossings > needed).then_some((&channel.ring, crossings, needed))
    });
    let rings: Vec<_> = rings.collect();
    let (ring, crossings, needed) = rings.iter().max_by_key(|(_, crossings, _)| crossings)?;
    let claim = PaceClaim::RingCrossings {
        communicator: facts.identity_of(id),
        crossings: *crossings as u64,
        needed: *needed as u64,
        rings: rings.len() as u64,
        channels: communicator.channels.len() as u64,
    };
    let order = FrameObservation::Ring(ring.iter().take(64).copied().collect());
    let witness = communicator.evidence.iter().find_map(|evidence| evidence.witness);
    Some(
        KIND.finding(Severity::Warning, claim)
            .about(Subject { communicator: Some(id), ..Subject::default() })
            .proven()
            .because(Proof::frames(order, witness)),
    )
}

/// What identifies the host of a rank.
fn host(communicator: &Communicator, rank: u32) -> Option<String> {
    let rank = communicator.ranks.iter().find(|known| known.rank == rank)?;
    rank.host.clone().or_else(|| rank.address.map(|address| address.to_string()))
}
