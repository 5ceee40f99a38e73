//! What each cause added to a collective: the latest rank, the slowest receiver, the costliest loss,
//! congestion and pause, the slowest path over TCP.
//!
//! Causes of one kind act at the same time, so the greatest of each kind counts.

use std::collections::BTreeMap;

use super::Cause;
use super::own_time::OwnTime;
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::edge::EdgeWaits;
use crate::link::job::Job;
use crate::model::spread::lower_median;

/// Tenths of the slowest other receiver's time that a slow one takes at least.
const TENTHS_OF_OTHERS: u64 = 13;

/// A port holds up what comes to it if it pauses its switch for 1/`PARTS_PAUSED` of the time or more.
const PARTS_PAUSED: u64 = 5;

/// A slow receiver costs what it took to offer its buffers again, which is counted once for each window, or
/// what waiting for room at it did, up to so many times as much: a window has four messages (NCCL's Simple
/// protocol).
const WINDOW: u64 = 4;

/// What one cause at one rank added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contribution {
    /// The rank.
    pub rank: u32,
    /// Why.
    pub cause: Cause,
    /// By how much.
    pub ns: u64,
}

/// What held up a collective, one of each kind of cause. `room` is what waiting for room at each rank cost.
#[must_use]
pub fn contributions(
    job: &Job,
    waits: &CollectiveWaits,
    own: &[OwnTime],
    room: &BTreeMap<u32, u64>,
) -> Vec<Contribution> {
    let late = late_start(waits, own).or_else(|| hidden(own));
    let pausing = pausing(job, waits, room);
    let paused = most(own, |one| one.pause_ns);
    // A port that pauses is the cause; one that is paused is a victim, and its switch may pause it in turn.
    let pause = match (pausing, paused) {
        (Some((rank, held_ns)), Some((_, paused_ns))) => Some((rank, held_ns.max(paused_ns))),
        (pausing, paused) => pausing.or(paused),
    };
    let receiver =
        slow_receiver(own, room).filter(|one| pausing.is_none_or(|(rank, _)| rank != one.rank));
    let network = [
        (Cause::Loss, most(own, |one| one.loss_ns)),
        (Cause::Congestion, most(own, |one| one.congestion_ns)),
        (Cause::Pause, pause),
        (Cause::Socket, most(own, |one| one.socket_ns)),
    ];
    let network = network.into_iter().filter_map(|(cause, most)| {
        let (rank, ns) = most.filter(|(_, ns)| *ns > 0)?;
        Some(Contribution { rank, cause, ns })
    });
    late.into_iter().chain(receiver).chain(network).collect()
}

/// The rank that started latest, by its excess over the middle rank.
fn late_start(waits: &CollectiveWaits, own: &[OwnTime]) -> Option<Contribution> {
    let start = |one: &OwnTime| Some(one.enqueue_ns? + one.compute_ns?);
    let latest = own.iter().max_by_key(|one| start(one))?;
    let middle_ns = lower_median(own.iter().filter_map(start))?;
    let middle_call_ns = lower_median(own.iter().filter_map(|one| one.enqueue_ns))?;
    let excess_ns = start(latest)?.saturating_sub(middle_ns);
    // Other ranks may have left the collective before later; the comparison of ranks knows.
    let bound = waits.of_rank(latest.rank).and_then(|waits| waits.lateness);
    let bound_ns = bound.map_or(excess_ns, |late| u64::try_from(late.late_ns).unwrap_or(0));
    let ns = excess_ns.min(bound_ns);
    let called_late_ns = latest.enqueue_ns?.saturating_sub(middle_call_ns);
    let cause = if called_late_ns > ns / 2 { Cause::Enqueue } else { Cause::Compute };
    (ns > 0).then_some(Contribution { rank: latest.rank, cause, ns })
}

/// A rank without a connection of its own that stopped others.
fn hidden(own: &[OwnTime]) -> Option<Contribution> {
    let (rank, ns) = most(own, |one| one.sender_ns)?;
    Some(Contribution { rank, cause: Cause::Sender, ns })
}

fn slow_receiver(own: &[OwnTime], room: &BTreeMap<u32, u64>) -> Option<Contribution> {
    let (rank, slowest_ns) = most(own, |one| one.receiver_ns)?;
    let others = || own.iter().filter(|one| one.rank != rank).filter_map(|one| one.receiver_ns);
    if slowest_ns.saturating_mul(10) < others().max()?.saturating_mul(TENTHS_OF_OTHERS) {
        return None;
    }
    let refills_ns = slowest_ns.saturating_sub(lower_median(others())?);
    let room_ns = room.get(&rank).copied().unwrap_or(0);
    let ns = room_ns.clamp(refills_ns, refills_ns.saturating_mul(WINDOW));
    (ns > 0).then_some(Contribution { rank, cause: Cause::Receiver, ns })
}

/// The rank whose port paused its switch for much of the time, and held up others.
fn pausing(job: &Job, waits: &CollectiveWaits, room: &BTreeMap<u32, u64>) -> Option<(u32, u64)> {
    let pauses = |edge: &&EdgeWaits| {
        edge.receiver_pauses_ns.saturating_mul(PARTS_PAUSED) >= edge.span.length_ns().max(1)
    };
    let ranks = waits.edges.iter().filter(pauses);
    let ranks = ranks.filter_map(|edge| job.connection(edge.connection)?.receiver);
    let held_up = ranks.filter_map(|rank| Some((rank, *room.get(&rank)?)));
    held_up.filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns)
}

fn most(own: &[OwnTime], of: impl Fn(&OwnTime) -> Option<u64>) -> Option<(u32, u64)> {
    let known = own.iter().filter_map(|one| Some((one.rank, of(one)?)));
    known.max_by_key(|(_, ns)| *ns)
}
