//! A slow receiver: throughout the collective it offers each buffer again late.
//!
//! A receiver offers a buffer again when its GPU has consumed the message in it. So the time from the
//! end of a message (or the rank's own first data, if that is later) to the clear-to-send for the
//! same buffer, a window later, is the receiver's own. One collective proves little: a slow receiver
//! is slow in the neighbouring collectives as well.

use std::collections::BTreeMap;

use super::sign::{Sign, SignKind};
use super::{Case, Cause, Straggler};
use crate::analysis::collective::Collective;
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::view::{Message, View};
use crate::link::job::{CommunicatorId, Job, NetConnectionId};
use crate::model::grade::Grade;
use crate::model::spread::lower_median;

/// A receiver is judged only in collectives in which it offers buffers again this many times.
const REFILLS_WANTED: usize = 3;

/// A slow receiver takes at least this many tenths of the next slowest receiver's time.
const TENTHS_OF_OTHERS: u64 = 13;

/// Judged collectives considered before and after one.
const NEIGHBOURS: usize = 4;

/// The rank must stand out in at least three of these, and in three quarters of them.
const AGREEING: (usize, usize) = (3, 4);

/// How long a receiver took to offer a buffer again.
#[derive(Clone, Copy, Debug)]
struct Refill {
    connection: NetConnectionId,
    /// The lower median over the messages.
    usual_ns: u64,
    /// Number of windows in the collective: each adds the excess once.
    rounds: u64,
}

/// The slow receiver of each collective.
#[must_use]
pub fn slow_receivers(
    job: &Job,
    collectives: &[Collective],
    waits: &[CollectiveWaits],
) -> Vec<Option<Straggler>> {
    let mut found = vec![None; collectives.len()];
    let mut judged: BTreeMap<CommunicatorId, Vec<(usize, Option<Straggler>)>> = BTreeMap::new();
    for (at, (collective, waits)) in collectives.iter().zip(waits).enumerate() {
        let refills = refills(&Case { job, collective, waits });
        // Without another receiver there is no comparison.
        if refills.len() > 1 {
            let of_communicator = judged.entry(collective.communicator).or_default();
            of_communicator.push((at, slowest(&refills, waits)));
        }
    }
    for judged in judged.values() {
        for (place, (at, straggler)) in judged.iter().enumerate() {
            let Some(straggler) = straggler else { continue };
            let end = (place + NEIGHBOURS + 1).min(judged.len());
            let around = judged.get(place.saturating_sub(NEIGHBOURS)..end).unwrap_or_default();
            let named = around.iter().filter_map(|(_, other)| other.as_ref());
            let same = named.filter(|other| other.rank == straggler.rank).count();
            let (agreeing, of) = AGREEING;
            if same >= agreeing && same * of >= around.len() * agreeing {
                found[*at] = Some(straggler.clone());
            }
        }
    }
    found
}

/// The rank that accepted data most slowly, if it stands out.
fn slowest(refills: &BTreeMap<u32, Refill>, waits: &CollectiveWaits) -> Option<Straggler> {
    let (rank, slowest) = refills.iter().max_by_key(|(_, refill)| refill.usual_ns)?;
    let others_ns = || {
        let others = refills.iter().filter(|(other, _)| *other != rank);
        others.map(|(_, refill)| refill.usual_ns)
    };
    let (middle_ns, most_ns) = (lower_median(others_ns())?, others_ns().max()?);
    if slowest.usual_ns.saturating_mul(10) < most_ns.saturating_mul(TENTHS_OF_OTHERS) {
        return None;
    }
    let kind = SignKind::Refill { rank: *rank, own_ns: slowest.usual_ns, others_ns: middle_ns };
    let at = waits.edges.iter().find(|edge| edge.connection == slowest.connection);
    Some(Straggler {
        rank: *rank,
        lag_ns: slowest.usual_ns.saturating_sub(middle_ns).saturating_mul(slowest.rounds),
        cause: Cause::Receiver,
        connection: Some(slowest.connection),
        grade: Grade::Inferred,
        evidence: vec![Sign { kind, witness: at.map(|edge| edge.first_witness) }],
    })
}

/// For each receiver, its quickest channel: a slow rank slows all of them. Ranks that do not send over
/// the network are left out: when they began to accept data is unknown.
fn refills(case: &Case<'_>) -> BTreeMap<u32, Refill> {
    let mut seen = Vec::new();
    for on in &case.collective.transfers {
        let Some(connection) = case.job.connection(on.connection) else { continue };
        let rank = case.waits.ranks.iter().find(|one| Some(one.rank) == connection.receiver);
        let view = View::of_receiver(connection, on.places.clone());
        if let (Some((rank, start)), Some(view)) =
            (rank.and_then(|one| Some((one.rank, one.first_send?))), view)
        {
            seen.push((rank, start, on.connection, view.messages().collect::<Vec<_>>()));
        }
    }
    let window = seen.iter().map(|(.., messages)| window(messages)).max().unwrap_or(0);
    let mut refills: BTreeMap<u32, Refill> = BTreeMap::new();
    for (rank, start, connection, messages) in &seen {
        if window == 0 || messages.len() < window + REFILLS_WANTED {
            continue;
        }
        let later = messages.iter().skip(window);
        let waits = messages
            .iter()
            .zip(later)
            .filter_map(|(message, later)| Some(later.cts?.nanos_since(message.last.max(*start))));
        let Some(usual_ns) = lower_median(waits) else { continue };
        let rounds = messages.len().checked_div(window).unwrap_or(0) as u64;
        let refill = Refill { connection: *connection, usual_ns, rounds };
        let known = refills.entry(*rank).or_insert(refill);
        if usual_ns < known.usual_ns {
            *known = refill;
        }
    }
    refills
}

/// Clear-to-sends outstanding before the first message ends.
fn window(messages: &[Message]) -> usize {
    let Some(end) = messages.first().map(|message| message.last) else { return 0 };
    messages.iter().take_while(|message| message.cts.is_some_and(|cts| cts <= end)).count()
}
