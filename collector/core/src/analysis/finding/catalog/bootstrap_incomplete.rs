//! Ranks are missing from a communicator.

use std::collections::BTreeMap;

use crate::analysis::bootstrap;
use crate::analysis::finding::claim::setup::SetupClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::log_cause;
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
                without `Init COMPLETE`, and no rank logged that it used or left the communicator: a \
                warning, or information where a line of the log names the cause.",
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
    (0..communicators as u32)
        .map(CommunicatorId)
        .filter_map(|id| by_traffic(facts, id).or_else(|| by_logs(facts, id)))
        .collect()
}

fn by_traffic(facts: &Facts<'_>, id: CommunicatorId) -> Option<Finding> {
    let communicator = facts.communicator(id)?;
    let (bootstrap, nranks) = communicator.bootstrap.zip(communicator.nranks)?;
    let root = communicator.root?.ip();
    // If the root's process is a rank, its own check-in does not leave the host.
    let missing = bootstrap::missing_ranks(communicator)?;
    let is_local =
        |rank: &u32| *rank == 0 && !communicator.ranks.iter().any(|one| one.address == Some(root));
    let missing: Vec<u32> = missing.into_iter().filter(|rank| !is_local(rank)).collect();
    let silence_ns = facts.span()?.last.nanos_since(bootstrap.span.last);
    let is_over = silence_ns >= PATIENCE_NS;
    let kinds = || communicator.evidence.iter().map(|evidence| evidence.kind);
    let went_on = kinds().any(|kind| kind == EvidenceKind::RingGather)
        || facts.job()?.connections.iter().any(|one| one.communicator == id);
    let saw_root = kinds().any(|kind| kind == EvidenceKind::CheckIn);
    if missing.is_empty() || !is_over || went_on || !saw_root {
        return None;
    }
    let check_ins =
        FrameObservation::CheckIns { ranks: communicator.ranks.len() as u64, root, silence_ns };
    let witness = communicator.evidence.iter().find_map(|evidence| evidence.witness);
    let rank = missing.first().copied().filter(|_| missing.len() == 1);
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
fn by_logs(facts: &Facts<'_>, id: CommunicatorId) -> Option<Finding> {
    let mut begun: BTreeMap<u32, Witness> = BTreeMap::new();
    let mut nranks = 0;
    for (at, process) in facts.state.logs.processes.iter().enumerate() {
        for (place, member) in process.memberships.iter().enumerate() {
            if facts.state.memberships.get(&(at, place)) != Some(&id) {
                continue;
            }
            nranks = member.nranks;
            let is_used = member.is_complete
                || !member.reports_end
                || member.end.is_some()
                || !member.calls.is_empty();
            if is_used {
                return None;
            }
            begun.insert(member.rank, member.first);
        }
    }
    let (_, witness) = begun.first_key_value()?;
    // A single rank: the other ranks' logs were not given.
    let is_silent = |rank: &u32| begun.len() > 1 && !begun.contains_key(rank);
    let claim = SetupClaim::InitIncomplete {
        communicator: facts.identity_of(id),
        begun: begun.keys().copied().collect(),
        silent: (0..nranks).filter(is_silent).collect(),
    };
    // The log may simply end there; where a line names a cause, this follows from it.
    let is_consequence = log_cause::depth(facts).is_some();
    let severity = if is_consequence { Severity::Info } else { Severity::Warning };
    Some(
        KIND.finding(severity, claim)
            .caused_by("not_completed")
            .about(Subject { communicator: Some(id), ..Subject::default() })
            .because(Proof::log(LogObservation::InitNotComplete, *witness)),
    )
}
