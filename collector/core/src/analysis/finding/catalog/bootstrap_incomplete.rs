//! Ranks are missing from a communicator.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::bootstrap::{self, MissingRanks};
use crate::analysis::finding::claim::setup::SetupClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::{FrameObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::evidence::EvidenceKind;
use crate::link::job::CommunicatorId;
use crate::model::witness::Witness;

/// Incomplete bootstrap.
pub const KIND: Kind = Kind {
    id: "bootstrap_incomplete",
    about: "A communicator never came up: ranks did not check in at the root, or started and did \
            not finish. All other ranks wait for them with idle GPUs.",
    threshold: "Captures at the root: some ranks were not seen to check in, no gather or data \
                followed, and the bootstrap was silent for 5 s (our choice). Logs: `Init START` \
                without `Init COMPLETE`, and no rank logged that it used or left the communicator.",
    remedy: "On the hosts of the missing ranks: is the process running? Can it reach the root's \
             address and port (firewall, security group, MASTER_ADDR, NCCL_SOCKET_IFNAME)? Does it \
             have the same world size?",
    needs: &[Need::ControlPlane, Need::Logs],
    detect,
};

/// Silence after which missing check-ins are not expected any more.
const PATIENCE_NS: u64 = 5_000_000_000;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let communicators = facts.job().map_or(0, |job| job.communicators.len());
    let connected: BTreeSet<CommunicatorId> =
        facts.job().iter().flat_map(|job| &job.connections).map(|one| one.communicator).collect();
    let mut logged: BTreeMap<CommunicatorId, Vec<(usize, usize)>> = BTreeMap::new();
    for (place, id) in &facts.state.memberships {
        logged.entry(*id).or_default().push(*place);
    }
    (0..communicators as u32)
        .map(CommunicatorId)
        .filter_map(|id| {
            by_traffic(facts, id, connected.contains(&id))
                .or_else(|| by_logs(facts, id, logged.get(&id)?))
        })
        .collect()
}

fn by_traffic(facts: &Facts<'_>, id: CommunicatorId, is_connected: bool) -> Option<Finding> {
    let communicator = facts.communicator(id)?;
    let (bootstrap, nranks) = communicator.bootstrap.zip(communicator.nranks)?;
    let root = communicator.root?.ip();
    // If the root's process is a rank, its own check-in does not leave the host.
    let missing = bootstrap::missing_ranks(communicator)?;
    let is_local = !communicator.ranks.iter().any(|one| one.address == Some(root));
    let missing = if is_local { missing.without_rank_0() } else { missing };
    let silence_ns = facts.span()?.last.nanos_since(bootstrap.span.last);
    let is_over = silence_ns >= PATIENCE_NS;
    let kinds = || communicator.evidence.iter().map(|evidence| evidence.kind);
    let went_on = is_connected || kinds().any(|kind| kind == EvidenceKind::RingGather);
    let saw_root = kinds().any(|kind| kind == EvidenceKind::CheckIn);
    if missing.is_empty() || !is_over || went_on || !saw_root {
        return None;
    }
    let check_ins =
        FrameObservation::CheckIns { ranks: communicator.ranks.len() as u64, root, silence_ns };
    let witness = communicator.evidence.iter().find_map(|evidence| evidence.witness);
    let rank = missing.only();
    let communicator = facts.identity_of(id);
    let claim = SetupClaim::RanksMissing { communicator, missing, nranks };
    Some(
        KIND.finding(Severity::Critical, claim)
            .caused_by("missing_ranks")
            .about(Subject { communicator: Some(id), rank, ..Subject::default() })
            .over(Some(bootstrap.span))
            .because(Proof::frames(check_ins, witness)),
    )
}

/// Ranks that began and did not report completion.
fn by_logs(facts: &Facts<'_>, id: CommunicatorId, members: &[(usize, usize)]) -> Option<Finding> {
    let mut begun: BTreeMap<u32, Witness> = BTreeMap::new();
    let mut nranks = 0;
    for (at, place) in members {
        let process = facts.state.logs.processes.get(*at);
        let Some(member) = process.and_then(|process| process.memberships.get(*place)) else {
            continue;
        };
        nranks = member.nranks;
        let is_used = member.is_complete || member.end.is_some() || !member.calls.is_empty();
        if is_used {
            return None;
        }
        begun.insert(member.rank, member.first);
    }
    let (_, witness) = begun.first_key_value()?;
    // A single rank: the other ranks' logs were not given.
    let ranks: BTreeSet<u32> = begun.keys().copied().collect();
    let silent = match ranks.len() {
        1 => MissingRanks::default(),
        _ => MissingRanks::beside(&ranks, nranks),
    };
    let claim = SetupClaim::InitIncomplete {
        communicator: facts.identity_of(id),
        begun: begun.keys().copied().collect(),
        silent,
    };
    Some(
        KIND.finding(Severity::Critical, claim)
            .caused_by("not_completed")
            .about(Subject { communicator: Some(id), ..Subject::default() })
            .because(Proof::log(LogObservation::InitNotComplete, *witness)),
    )
}
