//! What the network did to a connection: packets lost and retransmitted, data slowed down, its sender
//! paused.

use std::collections::{BTreeMap, BTreeSet};

use super::sign::{Sign, SignKind};
use super::{Case, Cause, Straggler};
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::edge::EdgeWaits;
use crate::link::job::{Job, NetConnectionId, Transfer};
use crate::model::grade::Grade;
use crate::model::spread::lower_median;

/// A connection that is nearly always marked counts as slowed down if it was slower than all unmarked
/// connections in at least this many of three collectives: connections differ by chance, too.
const SLOWEST_OF_THREE: usize = 2;

/// A connection, and the bytes that it carried in a collective.
type Load = (NetConnectionId, u64);

/// What data usually takes without congestion or loss.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// Nanoseconds without marks: the lower median, where at least half of the connection's collectives
    /// had none.
    unmarked_ns: BTreeMap<Load, u64>,
    /// Connections that are nearly always marked, and slower than those that are not.
    slowed: BTreeSet<Load>,
    /// The shortest way of a message on connections that were seen to recover, if both ends were seen.
    quickest: BTreeMap<NetConnectionId, i64>,
}

/// One load in all collectives.
#[derive(Default)]
struct Seen {
    unmarked_ns: Vec<u64>,
    marked: usize,
    /// Of the marked ones, those with an unmarked peer in the same collective ...
    compared: usize,
    /// ... and those slower than all such peers.
    slowest: usize,
}

impl Baseline {
    /// From all collectives of `job`.
    #[must_use]
    pub fn new(job: &Job, waits: &[CollectiveWaits]) -> Self {
        let mut seen: BTreeMap<Load, Seen> = BTreeMap::new();
        for waits in waits {
            for edge in &waits.edges {
                let seen = seen.entry((edge.connection, edge.bytes)).or_default();
                if !is_marked(edge) {
                    seen.unmarked_ns.push(edge.data_ns);
                    continue;
                }
                seen.marked += 1;
                if let Some(slowest_ns) = peers_ns(waits, edge).max() {
                    seen.compared += 1;
                    seen.slowest += usize::from(edge.data_ns > slowest_ns);
                }
            }
        }
        let edges = waits.iter().flat_map(|waits| &waits.edges);
        let recovering: BTreeSet<NetConnectionId> =
            edges.filter(|edge| edge.recovery_ns > 0).map(|edge| edge.connection).collect();
        let quickest = |id: NetConnectionId| {
            Some((id, job.connection(id)?.transfers.iter().filter_map(way).min()?))
        };
        let mut baseline = Self {
            quickest: recovering.into_iter().filter_map(quickest).collect(),
            ..Self::default()
        };
        for (load, seen) in seen {
            if seen.unmarked_ns.len() >= seen.marked {
                let median_ns = lower_median(seen.unmarked_ns.into_iter());
                baseline.unmarked_ns.extend(median_ns.map(|ns| (load, ns)));
            } else if seen.compared > 0 && seen.slowest * 3 >= seen.compared * SLOWEST_OF_THREE {
                baseline.slowed.insert(load);
            }
        }
        baseline
    }

    /// What the bytes of an edge usually take on its connection; where that is nearly always marked, on
    /// unmarked connections in the same collective.
    fn usual_ns(&self, case: &Case<'_>, edge: &EdgeWaits) -> Option<u64> {
        let load = (edge.connection, edge.bytes);
        let of_peers = || lower_median(peers_ns(case.waits, edge));
        let own = self.unmarked_ns.get(&load).copied();
        own.or_else(|| self.slowed.contains(&load).then(of_peers).flatten())
    }

    /// How much longer a marked edge took than its bytes usually take; `None` for an edge without
    /// marks, or if nothing is known to compare with.
    #[must_use]
    pub fn excess_ns(&self, case: &Case<'_>, edge: &EdgeWaits) -> Option<u64> {
        let usual_ns = self.usual_ns(case, edge).filter(|_| is_marked(edge))?;
        Some(edge.data_ns.saturating_sub(usual_ns))
    }
}

/// The connection whose recovery delayed data most. The straggler is its sender, with the network as
/// the cause.
#[must_use]
pub fn loss(case: &Case<'_>, baseline: &Baseline) -> Option<Straggler> {
    let recovering = case.waits.edges.iter().filter(|edge| edge.recovery_ns > 0);
    let delayed = recovering.map(|edge| (held_up_ns(case, baseline, edge), edge));
    let (lag_ns, edge) = delayed.max_by_key(|(lag_ns, _)| *lag_ns)?;
    let (sender, receiver) = ranks(case, edge)?;
    let kind = SignKind::Recovery {
        sender,
        receiver,
        recovery_ns: edge.recovery_ns,
        delay_ns: lag_ns,
        resent: edge.retransmitted_packets,
    };
    Some(Straggler {
        rank: sender,
        lag_ns,
        cause: Cause::Loss,
        connection: Some(edge.connection),
        grade: Grade::Proven,
        evidence: vec![Sign { kind, witness: Some(edge.first_witness) }],
    })
}

/// How long recovery held up data on `edge`; all of it where only one end was captured.
#[must_use]
pub fn held_up_ns(case: &Case<'_>, baseline: &Baseline, edge: &EdgeWaits) -> u64 {
    if edge.recovery_ns == 0 {
        return 0;
    }
    let proven_ns = edge.refused_ns.max(edge.blocked_ns).max(edge.unsent_ns);
    delay(case, baseline, edge).map_or(edge.recovery_ns, |delay_ns| delay_ns.max(proven_ns))
}

/// How much of the recovery on `edge` delayed a message at the receiver: if only an ACK was lost,
/// the data had arrived. `None` without a tap at each end. Messages are compared with the quickest
/// of their connection, so the offset between the clocks does not matter.
fn delay(case: &Case<'_>, baseline: &Baseline, edge: &EdgeWaits) -> Option<u64> {
    let connection = case.job.connection(edge.connection)?;
    let transfers = &case.collective.transfers;
    let on = transfers.binary_search_by_key(&edge.connection, |on| on.connection).ok()?;
    let on = transfers.get(on)?;
    let quickest = *baseline.quickest.get(&edge.connection)?;
    let slowest = connection.transfers.get(on.places.clone())?.iter().filter_map(way).max()?;
    Some(slowest.abs_diff(quickest).min(edge.recovery_ns))
}

/// From the sender's tap to the receiver's, by their own clocks; `None` without a tap at each end.
fn way(transfer: &Transfer) -> Option<i64> {
    // A tap that stands for both ends saw the same of both.
    let (sent, received) = transfer.sent.zip(transfer.received).filter(|(a, b)| a != b)?;
    Some(received.last.relative_to(sent.last))
}

/// The connection with the largest excess over its usual time while its packets were CE-marked or
/// its sender received CNPs.
#[must_use]
pub fn congestion(case: &Case<'_>, baseline: &Baseline) -> Option<Straggler> {
    let excess = |edge| Some((baseline.excess_ns(case, edge)?, edge));
    let edges = case.waits.edges.iter().filter_map(excess);
    let (lag_ns, edge) = edges.max_by_key(|(excess_ns, _)| *excess_ns)?;
    let usual_ns = baseline.usual_ns(case, edge)?;
    let (sender, receiver) = ranks(case, edge)?;
    let kind = SignKind::Rate {
        sender,
        receiver,
        data_ns: edge.data_ns,
        usual_ns,
        marks: edge.ce_packets,
        cnps: edge.cnps,
    };
    Some(Straggler {
        rank: sender,
        lag_ns,
        cause: Cause::Congestion,
        connection: Some(edge.connection),
        grade: Grade::Inferred,
        evidence: vec![Sign { kind, witness: Some(edge.first_witness) }],
    })
}

/// The connection whose sender was paused longest. The straggler is that sender, with the network as
/// the cause.
#[must_use]
pub fn pause(case: &Case<'_>) -> Option<Straggler> {
    let paused = case.waits.edges.iter().filter_map(|edge| Some((edge.paused_ns?, edge)));
    let (lag_ns, edge) = paused.max_by_key(|(paused_ns, _)| *paused_ns)?;
    let (sender, receiver) = ranks(case, edge).filter(|_| lag_ns > 0)?;
    let is_seen = edge.is_pause_seen;
    let kind = SignKind::Paused { sender, receiver, paused_ns: lag_ns, is_seen };
    Some(Straggler {
        rank: sender,
        lag_ns,
        cause: Cause::Pause,
        connection: Some(edge.connection),
        grade: if is_seen { Grade::Proven } else { Grade::Inferred },
        evidence: vec![Sign { kind, witness: Some(edge.first_witness) }],
    })
}

/// The ranks that send and receive on an edge.
fn ranks(case: &Case<'_>, edge: &EdgeWaits) -> Option<(u32, u32)> {
    let connection = case.job.connection(edge.connection)?;
    connection.sender.zip(connection.receiver)
}

/// What as many bytes took on unmarked connections in the same collective.
fn peers_ns<'a>(waits: &'a CollectiveWaits, edge: &'a EdgeWaits) -> impl Iterator<Item = u64> + 'a {
    let is_peer = |one: &&EdgeWaits| one.bytes == edge.bytes && !is_marked(one);
    waits.edges.iter().filter(is_peer).map(|one| one.data_ns)
}

/// The network reported congestion.
fn is_marked(edge: &EdgeWaits) -> bool {
    edge.ce_packets.unwrap_or(0) > 0 || edge.cnps.unwrap_or(0) > 0
}
