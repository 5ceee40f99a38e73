//! Ranks are missing from a communicator.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::analysis::bootstrap::{self, MissingRanks};
use crate::analysis::finding::claim::setup::SetupClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::log_cause;
use crate::analysis::finding::naming::Among;
use crate::analysis::finding::observation::{FrameObservation, LogObservation};
use crate::analysis::finding::{Finding, Proof, Subject};
use crate::analysis::severity::Severity;
use crate::link::control::store::StoreWait;
use crate::link::evidence::EvidenceKind;
use crate::link::job::CommunicatorId;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Incomplete bootstrap.
pub const KIND: Kind = Kind {
    id: "bootstrap_incomplete",
    about: "A communicator never came up: ranks did not check in at the root, or started and did \
            not finish. All other ranks wait for them with idle GPUs.",
    threshold: "Captures at the root: some ranks were not seen to check in, no gather or data \
                followed, and the bootstrap was silent for 5 s (our choice). At PyTorch's store: a \
                worker waited 5 s for a key of the rendezvous that nobody wrote, and no data \
                followed. Logs: `Init START` \
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
    let connected: BTreeSet<CommunicatorId> =
        facts.job().iter().flat_map(|job| &job.connections).map(|one| one.communicator).collect();
    let mut logged: BTreeMap<CommunicatorId, Vec<(usize, usize)>> = BTreeMap::new();
    for (place, id) in &facts.state.memberships {
        logged.entry(*id).or_default().push(*place);
    }
    // A log may simply end there; where a line names a cause, this follows from it.
    let severity =
        if log_cause::depth(facts).is_some() { Severity::Info } else { Severity::Warning };
    let found: Vec<Finding> = (0..communicators as u32)
        .map(CommunicatorId)
        .filter_map(|id| {
            by_traffic(facts, id, connected.contains(&id))
                .or_else(|| by_logs(facts, id, logged.get(&id)?, severity))
        })
        .collect();
    if found.is_empty() { by_store(facts) } else { found }
}

/// What workers wait for at a store, before NCCL's bootstrap: one that is missing there, or does not write
/// what the others need.
fn by_store(facts: &Facts<'_>) -> Vec<Finding> {
    let mut stores: BTreeMap<SocketAddr, Vec<Waiter<'_>>> = BTreeMap::new();
    for stream in &facts.state.streams {
        let wait = stream.visit.as_ref().and_then(|visit| visit.wait.as_ref());
        let Some(wait) = wait.filter(|wait| is_of_rendezvous(&wait.key)) else { continue };
        let tap = stream.connection.tap;
        let seen = facts.state.tracker.tap(tap).and_then(|tap| tap.span).map(|span| span.last);
        let ended = stream.totals.map(|totals| totals.span.last);
        let Some(until) = wait.until.or(ended).or(seen) else { continue };
        let span = facts.aligned_span(tap, Span { first: wait.since, last: until });
        if span.length_ns() >= PATIENCE_NS && !is_running_after(facts, span.first) {
            let host = stream.connection.client.ip();
            let waiter = Waiter { tap, host, wait, span };
            stores.entry(stream.connection.server).or_default().push(waiter);
        }
    }
    stores.into_iter().filter_map(|(store, waiters)| at_store(facts, store, &waiters)).collect()
}

/// A worker that waits.
struct Waiter<'a> {
    tap: TapId,
    host: IpAddr,
    wait: &'a StoreWait,
    span: Span,
}

/// Keys by which workers of PyTorch find each other: the unique id of a communicator, the first barrier.
fn is_of_rendezvous(key: &str) -> bool {
    let last = key.rsplit('/').next().unwrap_or(key);
    let is_number = !last.is_empty() && last.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b':'));
    let is_id = is_number && (key.contains("//cuda//") || key.contains("default_pg/"));
    is_id || key.contains("store_based_barrier_key") || key.ends_with("init/")
}

/// Whether data of any job was sent later.
fn is_running_after(facts: &Facts<'_>, time: Timestamp) -> bool {
    let flows = facts.state.tracker.flows().flows().iter();
    let mut data = flows.filter(|flow| flow.requester().requests.first().is_some());
    data.any(|flow| facts.state.aligned_span(flow).last > time)
}

fn at_store(facts: &Facts<'_>, store: SocketAddr, waiters: &[Waiter<'_>]) -> Option<Finding> {
    let first = waiters.iter().min_by_key(|one| one.span.first)?;
    let last = waiters.iter().map(|one| one.span.last).max()?;
    let waiting: BTreeSet<IpAddr> = waiters.iter().map(|one| one.host).collect();
    let visits = facts.state.streams.iter().filter(|one| one.connection.server == store);
    let registered =
        visits.filter(|one| one.visit.as_ref().is_some_and(|visit| visit.is_registered));
    let hosts: BTreeSet<IpAddr> = registered.map(|one| one.connection.client.ip()).collect();
    let waiting: Vec<IpAddr> = waiting.into_iter().collect();
    let claim = SetupClaim::WaitAtStore {
        store,
        key: first.wait.key.clone(),
        waiting: Among::all(&waiting, |host| *host),
        silence_ns: last.nanos_since(first.span.first),
    };
    let witness = match first.wait.witness {
        Witness::Frame { number, time, .. } => facts.frame(first.tap, number, time),
        other => other,
    };
    let hosts = hosts.into_iter().filter(|host| *host != store.ip()).collect();
    let registered = FrameObservation::Registered { store, hosts };
    Some(
        KIND.finding(Severity::Critical, claim)
            .caused_by("waits_at_store")
            .about(Subject { port: Some(store.ip()), ..Subject::default() })
            .over(Some(Span { first: first.span.first, last }))
            .because(Proof::frames(registered, Some(witness))),
    )
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
fn by_logs(
    facts: &Facts<'_>,
    id: CommunicatorId,
    members: &[(usize, usize)],
    severity: Severity,
) -> Option<Finding> {
    let mut begun: BTreeMap<u32, Witness> = BTreeMap::new();
    let mut nranks = 0;
    for (at, place) in members {
        let process = facts.state.logs.processes.get(*at);
        let Some(member) = process.and_then(|process| process.memberships.get(*place)) else {
            continue;
        };
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
        KIND.finding(severity, claim)
            .caused_by("not_completed")
            .about(Subject { communicator: Some(id), ..Subject::default() })
            .because(Proof::log(LogObservation::InitNotComplete, *witness)),
    )
}
